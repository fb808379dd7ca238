"""How many items of the basket have a known link to it: no model at all."""

import torch
from torch import Tensor

from logirec.data.dataset import Dataset
from logirec.data.query_sets import Ragged, targets_of
from logirec.relation import Relation


class Lookup:
    def fit(self, dataset: Dataset) -> "Lookup":
        self.links, self.items = dataset.graph().links[Relation.CO_PURCHASE], dataset.items
        return self

    def scores(self, baskets: Ragged) -> Tensor:
        linked = targets_of(self.links, self.items, baskets.values)
        rows = torch.from_numpy(baskets.owners[linked.owners])
        table = torch.zeros(len(baskets), self.items)
        table.index_put_((rows, torch.from_numpy(linked.values).long()), torch.ones(()), accumulate=True)
        return table
