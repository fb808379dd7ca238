"""Where tables of evidence have something, what they have there, and what it comes to: tables through curves.

amounts[m, j]  =  sum over tables t and curves c of  weight[t, c] * c(t[m, j])
"""

from collections.abc import Callable
from functools import partial, reduce
from itertools import product
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from logirec.baselines.base import members
from logirec.data.query_sets import Ragged

Curve = Callable[[np.ndarray], np.ndarray]


def _bent(numbers: np.ndarray, near: float) -> np.ndarray:
    """Logarithms from about `near` on; nothing for what speaks against a pair."""
    bent: np.ndarray = np.log1p(np.maximum(numbers, 0) / np.float32(near))
    return bent


CURVES: tuple[Curve, ...] = (np.asarray, partial(_bent, near=0.02), partial(_bent, near=0.3))


class Places:
    """All (row, column) where a table has something, in order; `viewed`: the items that are viewed with each item."""

    def __init__(self, tables: list[Any], viewed: Any = None) -> None:
        self.items = tables[0].shape[0]
        everywhere = reduce(add, (_filled(table) for table in tables)).tocsr()
        everywhere.sort_indices()
        self.keys = self._keys(everywhere)
        self.targets = (self.keys % self.items).astype(np.int32)
        counts = np.bincount(self.keys // self.items, minlength=self.items)
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.viewed = np.zeros(len(self.keys), dtype=bool)
        if viewed is not None and len(self.keys):
            keys = self._keys(viewed)
            at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)  # some are no places
            self.viewed[at[self.keys[at] == keys]] = True

    def _keys(self, table: Any) -> np.ndarray:
        rows, columns = table.tocoo().coords
        keys: np.ndarray = rows.astype(np.int64) * self.items + columns
        return keys

    def values(self, table: Any) -> np.ndarray:
        """A table's numbers, and zero where it has none."""
        found = np.zeros(len(self.keys), dtype=np.float32)
        found[np.searchsorted(self.keys, self._keys(table))] = table.tocoo().data
        return found

    def sums(
        self, baskets: Ragged, tables: list[np.ndarray], unlike: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Over the members of each basket: owners (S,), rows (S,) and the sums of each table through each curve (S, F).

        `unlike`: what is viewed with a member does not count."""
        asked = members(baskets, self.items)
        starts = self.starts[asked.indices]
        lengths = self.starts[asked.indices + 1] - starts
        at = np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        owners = np.repeat(np.repeat(np.arange(len(baskets)), np.diff(asked.indptr)), lengths)
        if unlike:
            owners, at = owners[~self.viewed[at]], at[~self.viewed[at]]
        keys = owners * self.items + self.targets[at]
        order = np.argsort(keys, kind="stable")
        found, first = np.unique(keys[order], return_index=True)
        sums = np.zeros((len(found), len(tables) * len(CURVES)), np.float32)
        if len(found):
            at = at[order]
            for place, (table, curve) in enumerate(product(tables, CURVES)):
                sums[:, place] = np.add.reduceat(curve(table[at]), first)
        return found // self.items, found % self.items, sums


def _filled(table: Any) -> Any:
    """True where a table has a number: these add up in a tenth of the time that it takes to sort all their places."""
    table = table.tocsr()
    return sparse.csr_array((np.ones(table.nnz, dtype=bool), table.indices, table.indptr), table.shape)


def amounts(tables: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """What tables come to, place by place. Where there are no weights, or no tables any more, nothing is added."""
    found = np.zeros_like(tables[0])
    for table, row in zip(tables, weights.astype(np.float32), strict=False):
        for weight, curve in zip(row, CURVES, strict=True):
            if weight:
                found += weight * curve(table)
    return found
