"""What is bought most, whatever the basket."""

import numpy as np
import torch
from torch import Tensor

from logirec.data.dataset import Dataset
from logirec.data.query_sets import Ragged
from logirec.relation import Relation


class Popularity:
    def fit(self, dataset: Dataset) -> "Popularity":
        targets = dataset.graph().links[Relation.CO_PURCHASE].target
        self.counts = torch.from_numpy(np.bincount(targets, minlength=dataset.items).astype(np.float32))
        return self

    def scores(self, baskets: Ragged) -> Tensor:
        return self.counts.repeat(len(baskets), 1)
