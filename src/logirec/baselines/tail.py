"""Ridge regressions where a catalogue is too large for one inverse: what occurs least (the tail) has its own.

EASE's map to an item j is a regression on the other items. With S those that it occurs with most, and G = X'X,

    B[S, j]  =  (G[S, S] + strength * I)^-1  G[S, j]

which is the map itself where S is everything; what is far away would have got next to nothing. G is dense among the
items that occur most (the head), sparse for the others, of which each is in few rows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse

HEAD = 15_000  # items in a dense inverse: 1 GB at this size
MOST_NEAR = 100  # items that one of the tail is predicted from
LONGEST = 300  # a row of more items says next to nothing of two of them, and is passed over in the tail
BATCH = 256  # regressions solved at once


class Products:
    """G of a table (T, N), wherever it is asked for."""

    def __init__(self, table: Any, head: np.ndarray, dense: np.ndarray) -> None:
        """`head` (K,): items that G is dense for, which is `dense` (K, K)."""
        items, self.dense = table.shape[1], dense
        self.tail = np.setdiff1d(np.arange(items), head)
        short = short_rows(table)
        self.sparse = (short.tocsc()[:, self.tail].T @ short).tocsr()  # (N - K, N)
        self._in_head, self._in_tail, self._asked = (np.full(items, -1) for _ in range(3))
        self._in_head[head], self._in_tail[self.tail] = np.arange(len(head)), np.arange(len(self.tail))

    def fill(self, square: np.ndarray, items: np.ndarray) -> None:
        """The upper left part of (M, M) with G among these items."""
        place = self._in_head[items]
        head, tail = np.flatnonzero(place >= 0), np.flatnonzero(place < 0)
        square[np.ix_(head, head)] = self.dense[np.ix_(place[head], place[head])]
        owners, columns, values = self.taken(self.sparse, self._in_tail[items[tail]], items)
        square[tail[owners], columns] = values
        square[columns, tail[owners]] = values

    def others(self) -> Any:
        """(N - K, N) sparse: G of the tail, without its diagonal."""
        found = self.sparse.copy()
        found.data[found.indices == np.repeat(self.tail.astype(found.indices.dtype), np.diff(found.indptr))] = 0
        found.eliminate_zeros()
        return found

    def placed(self, table: Any) -> Any:
        """(N, N) of (N - K, N): rows where their items stand."""
        owners = np.repeat(self.tail, np.diff(table.indptr))
        return sparse.csr_array((table.data, (owners, table.indices)), (table.shape[1], table.shape[1]))

    def taken(self, table: Any, rows: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The numbers of some rows (R,) of a table (., N) at some items (M,): which row, which item, the number."""
        starts, ends = table.indptr[rows], table.indptr[rows + 1]
        owners = np.repeat(np.arange(len(rows)), ends - starts)
        first = np.cumsum(ends - starts) - (ends - starts)
        entries = np.arange(len(owners)) + (starts - first)[owners]
        self._asked[items] = np.arange(len(items))
        columns = self._asked[table.indices[entries]]
        self._asked[items] = -1
        kept = columns >= 0
        return owners[kept], columns[kept], table.data[entries[kept]]


def short_rows(table: Any) -> Any:
    table = table.tocsr()
    return table[np.diff(table.indptr) <= LONGEST]


def solved(among: Products, near: Any, wanted: Any, strength: float, without: Sequence[Any] = ()) -> Any:
    """(R, N) sparse, where `near` (R, N) has something: (G[S, S] + strength * I)^-1 wanted[S] for each of its rows S.

    `without`, each (R, N): rows of the table that G is to be without, another one for each regression."""
    counts, found = np.diff(near.indptr), np.zeros(near.nnz, dtype=np.float32)
    order = np.argsort(counts, kind="stable")  # those of about one size together
    order = order[counts[order] > 0]
    for first in range(0, len(order), BATCH):
        mine = order[first : first + BATCH]
        most = counts[mine[-1]]
        squares = np.zeros((len(mine), most, most), np.float32)
        columns = np.zeros((1 + len(without), len(mine), most, 1), np.float32)
        for at, one in enumerate(mine):
            items = near.indices[near.indptr[one] : near.indptr[one + 1]]
            among.fill(squares[at], items)
            for column, table in zip(columns[:, at], (wanted, *without), strict=True):
                _, places, values = among.taken(table, mine[at : at + 1], items)
                column[places, 0] = values
        squares[:, np.arange(most), np.arange(most)] += strength
        right, *left_out = map(torch.from_numpy, columns)
        square = torch.from_numpy(squares)
        for column in left_out:
            square -= column @ column.mT
        result = torch.cholesky_solve(right, torch.linalg.cholesky(square))[..., 0].numpy()
        inside = np.arange(most) < counts[mine, None]
        starts = near.indptr[mine]
        found[(starts[:, None] + np.arange(most))[inside]] = result[inside]
    return sparse.csr_array((found, near.indices, near.indptr), near.shape)
