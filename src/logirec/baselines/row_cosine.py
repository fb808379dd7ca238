"""Rows that are like the basket's say what goes with it, weighted by their cosine: neighbours' neighbours.

With orders this is what is known as session nearest neighbours.
"""

from typing import Any

import torch
from torch import Tensor

from logirec.baselines.base import Ask, LinkBaseline
from logirec.baselines.rows import rows, scaled
from logirec.data.dataset import Dataset


class RowCosine(LinkBaseline):
    def __init__(self, power: float = 1.0) -> None:
        self.power = power  # of the cosine: more makes the nearest rows count more

    def learn(self, dataset: Dataset, reverse: bool) -> Ask:
        known = rows(dataset, reverse, itself=False)
        unit = scaled(known.table, 0.5)
        across = unit.T.tocsr()

        def ask(baskets: Any) -> Tensor:
            # Each member's row is a unit vector, so that a set's cosine is the sum of its members'.
            near = (baskets @ unit if known.by_item else baskets) @ across
            near.data **= self.power
            return torch.from_numpy((near @ known.table).toarray())

        return ask
