"""The product graph: links as arrays, and as sparse matrices for questions about neighbours.

A catalogue can have tens of millions of links. Anything that needs eight bytes a link goes through in slices.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from logirec.relation import Relation

SLICE = 1 << 18


class Links(NamedTuple):
    """Directed links of one relation, sorted by (source, target), no pair twice."""

    source: np.ndarray  # (E,) int32
    target: np.ndarray  # (E,) int32
    weight: np.ndarray  # (E,) float32

    # A NamedTuple's own len is its number of fields; the number of links is what everyone means.
    def __len__(self) -> int:
        return len(self.source)

    def where(self, mask: np.ndarray) -> "Links":
        return Links(self.source[mask], self.target[mask], self.weight[mask])

    def reversed(self) -> "Links":
        order = np.lexsort((self.source, self.target))
        return Links(self.target[order], self.source[order], self.weight[order])


def slices(count: int) -> Iterator[slice]:
    for start in range(0, count, SLICE):
        yield slice(start, min(start + SLICE, count))


def in_rows(starts: np.ndarray, columns: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Which (row, column) pairs a sparse matrix has, by bisection within the rows, whose columns ascend.

    All pairs at once: each step halves what is left of every row, so it takes log2(longest row) steps.
    """
    if not len(columns):
        return np.zeros(len(row), dtype=bool)
    low, end = starts[row], starts[row + 1]
    high = end.copy()
    last = len(columns) - 1
    while (low < high).any():
        middle = (low + high) >> 1
        less = (columns[np.minimum(middle, last)] < column) & (low < high)
        high = np.where(less, high, middle)  # where low == high, middle == high: nothing moves
        low = np.where(less, middle + 1, low)
    found: np.ndarray = (low < end) & (columns[np.minimum(low, last)] == column)
    return found


def matrix(links: Links, items: int, values: np.ndarray | None = None) -> Any:
    """(N, N) sparse matrix, row = source; 1 per link, or the given values. Its columns are the links' own array."""
    data = np.ones(len(links), dtype=np.uint8) if values is None else values
    return sparse.csr_array((data, links.target, row_starts(links.source, items)), shape=(items, items))


def standing(links: Links, items: int) -> np.ndarray:
    """(E,) what share of its source's links is stronger than each link: 0 for the strongest, and for all where weights
    are equal. Not how much stronger, nor what place it had in a longer list, which would tell what was held out."""
    order = np.lexsort((-links.weight, links.source))
    source, weight = links.source[order], links.weight[order]
    starts = row_starts(source, items).astype(np.int64)
    first = np.ones(len(links), dtype=bool)  # of those as strong
    first[1:] = (np.diff(source) != 0) | (np.diff(weight) != 0)
    stronger = np.maximum.accumulate(np.where(first, np.arange(len(links)), 0)) - starts[source]
    found = np.empty(len(links), dtype=np.float32)
    found[order] = stronger / (starts[source + 1] - starts[source])
    return found


def row_starts(ascending: np.ndarray, rows: int) -> np.ndarray:
    """Where each row begins in an ascending array of row numbers, and where the last one ends."""
    wide = np.int64 if len(ascending) > np.iinfo(np.int32).max else np.int32
    # Of the same type, or searchsorted would make a wider copy of the whole array.
    return np.searchsorted(ascending, np.arange(rows + 1, dtype=ascending.dtype)).astype(wide)


@dataclass(frozen=True)
class ItemGraph:
    """The links that one stage may know."""

    items: int
    links: dict[Relation, Links]

    def has_links(self, relation: Relation, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Which of the asked links there are."""
        return has_links(self.links[relation], self.items, source, target)


def has_links(links: Links, items: int, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    starts = row_starts(links.source, items)
    found = np.zeros(len(source), dtype=bool)
    for part in slices(len(source)):
        found[part] = in_rows(starts, links.target, source[part], target[part])
    return found


def undirected_count(links: Links, items: int, among: np.ndarray | None = None) -> int:
    """Pairs of items with a link in either direction; `among` leaves out links, both directions of a pair alike."""
    starts = row_starts(links.source, items)
    count = 0
    for part in slices(len(links)):
        source, target = links.source[part], links.target[part]
        first = (source < target) | ~in_rows(starts, links.target, target, source)
        count += int(np.count_nonzero(first if among is None else first & among[part]))
    return count
