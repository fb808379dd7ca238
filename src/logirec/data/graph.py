"""The product graph: links as arrays, and as sparse matrices for questions about neighbours."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from logirec.relation import Relation


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


NO_LINKS = Links(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))


def merge(parts: Iterable[Links]) -> Links:
    """All links of the parts, sorted; the parts have none in common."""
    parts = list(parts)
    source, target, weight = (np.concatenate([getattr(p, name) for p in parts]) for name in Links._fields)
    order = np.lexsort((target, source))
    return Links(source[order], target[order], weight[order])


def keys(source: np.ndarray, target: np.ndarray, items: int) -> np.ndarray:
    """One number per directed pair, in the order of (source, target)."""
    packed: np.ndarray = source.astype(np.int64) * items + target
    return packed


def contains(sorted_keys: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Which of the asked keys are among the sorted ones."""
    if not len(sorted_keys):
        return np.zeros(len(asked), dtype=bool)
    at = np.searchsorted(sorted_keys, asked)
    at[at == len(sorted_keys)] = 0
    found: np.ndarray = sorted_keys[at] == asked
    return found


def matrix(links: Links, items: int, values: np.ndarray | None = None) -> Any:
    """(N, N) sparse matrix, row = source; 1 per link, or the given values. Its arrays are the links' own."""
    counts = np.bincount(links.source, minlength=items)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64 if len(links) > 2**31 - 1 else np.int32)
    data = np.ones(len(links), dtype=np.uint8) if values is None else values
    return sparse.csr_array((data, links.target, indptr), shape=(items, items))


def undirected_count(links: Links, items: int) -> int:
    low, high = np.minimum(links.source, links.target), np.maximum(links.source, links.target)
    return len(np.unique(keys(low, high, items)))


@dataclass(frozen=True)
class ItemGraph:
    """The links that one stage may know."""

    items: int
    links: dict[Relation, Links]

    @cached_property
    def co_purchase(self) -> Any:
        return matrix(self.links[Relation.CO_PURCHASE], self.items)

    @cached_property
    def co_view(self) -> Any:
        return matrix(self.links[Relation.CO_VIEW], self.items)

    @cached_property
    def _keys(self) -> dict[Relation, np.ndarray]:
        return {relation: keys(links.source, links.target, self.items) for relation, links in self.links.items()}

    def has_links(self, relation: Relation, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        return contains(self._keys[relation], keys(source, target, self.items))
