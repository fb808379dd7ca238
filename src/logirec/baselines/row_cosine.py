"""Rows that are like the basket's say what goes with it, weighted by their cosine: neighbours' neighbours.

With orders this is what is known as session nearest neighbours.
"""

from typing import Any

import torch
from torch import Tensor

from logirec.baselines.base import LinkBaseline
from logirec.baselines.rows import Rows, rows, scaled, strongest
from logirec.data.dataset import Dataset


class RowCosine(LinkBaseline):
    def __init__(self, power: float = 1.0, fade: float = 0.0) -> None:
        self.power = power  # of the cosine: more makes the nearest rows count more
        self.fade = fade  # how much less a row's weakest links count

    def learn(self, dataset: Dataset, reverse: bool) -> "Learnt":
        return Learnt(rows(dataset, reverse, itself=False, fade=self.fade), self.power)


class Learnt:
    def __init__(self, known: Rows, power: float) -> None:
        self.known, self.power = known, power
        self.unit = scaled(known.table, 0.5)
        self.across = self.unit.T.tocsr()

    def __call__(self, baskets: Any) -> Tensor:
        return torch.from_numpy(self._sparse(baskets).toarray())

    def largest(self, baskets: Any, most: int) -> Any:
        """(B, N) sparse: the largest scores of each basket."""
        return strongest(self._sparse(baskets), most)

    def _sparse(self, baskets: Any) -> Any:
        # Each member's row is a unit vector, so that a set's cosine is the sum of its members'.
        near = (baskets @ self.unit if self.known.by_item else baskets) @ self.across
        near.data **= self.power
        return near @ self.known.table
