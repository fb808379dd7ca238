"""Each member's nearest items, summed: what a session endpoint of a typical recommender server does.

Nearness is the cosine of the rows that hold the one and the other: n(ij) / sqrt(n(i) n(j)).
"""

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from logirec.baselines.base import Ask, LinkBaseline
from logirec.baselines.rows import STEP, rows, strongest
from logirec.data.dataset import Dataset


class SumOfNeighbours(LinkBaseline):
    def __init__(self, neighbours: int = 100) -> None:
        self.neighbours = neighbours

    def learn(self, dataset: Dataset, reverse: bool) -> Ask:
        table = rows(dataset, reverse).table
        inverse_root = (1 / np.sqrt(np.maximum(table.sum(axis=0), 1))).astype(np.float32)
        across, parts = table.T.tocsr(), []
        for first in range(0, dataset.items, STEP):  # all that occurs together would be too much at once
            near = (across[first : first + STEP] @ table).tocoo()
            owners, columns = near.coords
            near.data *= (owners + first != columns) * inverse_root[owners + first] * inverse_root[columns]
            near.eliminate_zeros()
            parts.append(strongest(near, self.neighbours))
        nearest = sparse.vstack(parts, format="csr")

        def ask(baskets: Any) -> Tensor:
            return torch.from_numpy((baskets @ nearest).toarray())

        return ask
