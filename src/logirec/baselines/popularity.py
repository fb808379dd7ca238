"""What is bought most, whatever the basket."""

import numpy as np
import torch
from torch import Tensor

from logirec.data.dataset import Dataset
from logirec.data.query_sets import Ragged
from logirec.relation import Relation


def popularity(dataset: Dataset) -> Tensor:
    """(N,) how many training orders hold an item; where there are only links, how many lead to it."""
    orders = dataset.baskets()
    found = dataset.graph().links[Relation.CO_PURCHASE].target if orders is None else orders.values
    return torch.from_numpy(np.bincount(found, minlength=dataset.items).astype(np.float32))


class Popularity:
    def fit(self, dataset: Dataset) -> "Popularity":
        self.counts = popularity(dataset)
        return self

    def scores(self, baskets: Ragged) -> Tensor:
        return self.counts.repeat(len(baskets), 1)
