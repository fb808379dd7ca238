"""Association rules {a} -> j and {a, b} -> j: the best rule whose left side is in the basket.

With n(.) the rows that hold all of them, of T rows: confidence = n(abj) / (n(ab) + 1), lift = confidence * T / n(j).
"""

from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from logirec.baselines.base import Ask, LinkBaseline
from logirec.baselines.rows import rows
from logirec.data.dataset import Dataset

PAIR_MEMBERS = 5  # of a large basket, pairs of its rarest items only: they say most, and pairs are many


class Rules(LinkBaseline):
    def __init__(self, measure: str = "confidence", support: int = 2) -> None:
        self.measure, self.support = measure, support

    def learn(self, dataset: Dataset, reverse: bool) -> Ask:
        table = rows(dataset, reverse).table
        self.rows = table.shape[0]
        by_item = table.T.tocsr()  # (N, T) the rows that hold an item
        counts = table.sum(axis=0)  # (N,)
        behind = torch.from_numpy((counts / (1 + counts.max()) * 1e-9).astype(np.float32))  # where no rule speaks

        def ask(baskets: Any) -> Tensor:
            owners, items = baskets.nonzero()
            best = behind.repeat(baskets.shape[0], 1)
            each, which = np.unique(items, return_inverse=True)
            _raise(best, owners, self._from(by_item[each], table, counts)[which])
            left, first, second = _pairs(baskets, counts)
            if len(left):
                _raise(best, left, self._from(by_item[first].multiply(by_item[second]).tocsr(), table, counts))
            return best

        return ask

    def _from(self, left: Any, table: Any, counts: np.ndarray) -> Any:
        """(L, N) what rules say whose left sides hold in so many of the rows (L, T)."""
        found = (left @ table).tocsr()
        found.data = self._values(found.data, np.repeat(left.sum(axis=1), np.diff(found.indptr)), counts[found.indices])
        return found

    def _values(self, together: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        # One more on the left: a rule seen once is not certain.
        confidence = np.where(together >= self.support, together / (left + 1), 0)
        return (confidence * self.rows / right if self.measure == "lift" else confidence).astype(np.float32)


def _raise(best: Tensor, owners: np.ndarray, found: Any) -> None:
    """The larger of what is there and what these rules say."""
    rows_ = np.repeat(owners.astype(np.int64), np.diff(found.indptr))
    places = torch.from_numpy(rows_ * best.shape[1] + found.indices)
    best.view(-1).scatter_reduce_(0, places, torch.from_numpy(found.data), "amax")


def _pairs(baskets: Any, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Owner, first and second item of the pairs within each basket."""
    pairs = []
    for owner in np.flatnonzero(np.diff(baskets.indptr) > 1):
        items = baskets.indices[baskets.indptr[owner] : baskets.indptr[owner + 1]]
        rarest = items[np.argsort(counts[items], kind="stable")[:PAIR_MEMBERS]]
        pairs += [(owner, a, b) for a, b in combinations(rarest, 2)]
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]
