"""The rule that makes high-order queries, and the search for the sets it applies to.

Rule: a set of items, connected through known co-purchase links, has the answer a when every member links to a. An
answer is held out when not all of those links are known; how many are not is its hardness.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from logirec.data.graph import SLICE, Links, in_rows, matrix, slices, undirected_count
from logirec.data.query_sets import EMPTY, QuerySet, concatenate, ragged, rectangle
from logirec.data.seeded import mix, shuffled

CHUNK = 8_192  # sets looked at at once
GROWTH = 20  # candidate sets per set listed, when larger sets are grown from smaller ones


class Answers(NamedTuple):
    """Every answer of some sets: which set, which item, how many of its links are held out."""

    owner: np.ndarray
    item: np.ndarray
    hardness: np.ndarray


class Rule:
    """The rule on a graph whose links are known, held out, or not there yet at this stage.

    A link's value is 1 when known, 2 when held out and 0 when not there. The element-wise product of the members'
    rows is then 2 ** hardness where every member links, and nothing elsewhere:
        prod_m row_m[a] = 1^(known links) * 2^(held-out links).
    """

    def __init__(self, links: Links, known: np.ndarray, held_out: np.ndarray, items: int) -> None:
        self.links, self.known, self.items = links, known, items
        self._rows = matrix(links, items, known.astype(np.uint8) + 2 * held_out.astype(np.uint8))

    def count_pairs(self) -> int:
        """Unordered pairs with a known link."""
        return undirected_count(self.links, self.items, self.known)

    def pairs(self, seed: int, purpose: str, at_once: int) -> Iterator[np.ndarray]:
        """All of those pairs (P, 2), each once, in a random order, about `at_once` at a time.

        The order is that of a random number per pair; a part holds the numbers of one band, so that a large graph
        is never laid out whole.
        """
        bands = max(1, int(self.known.sum()) // max(at_once, SLICE))  # each band is a pass over all links
        width = (1 << 64) // bands
        for band in range(bands):
            low, high = band * width, (band + 1) * width if band + 1 < bands else 1 << 64
            found = [np.empty((0, 2), dtype=np.int32)]
            for part in slices(len(self.links)):
                ends = np.column_stack([self.links.source[part], self.links.target[part]])[self.known[part]]
                ends.sort(axis=1)
                numbers = mix(seed, purpose, *ends.T)
                found.append(ends[(numbers >= np.uint64(low)) & (numbers <= np.uint64(high - 1))])
            yield shuffled(np.concatenate(found), seed, purpose)

    def answers(self, sets: np.ndarray) -> Answers:  # sets (Q, M)
        product: Any = self._rows[sets[:, 0]]
        for column in range(1, sets.shape[1]):
            product = product.multiply(self._rows[sets[:, column]])
        product = sparse.csr_array(product)
        product.eliminate_zeros()
        product.sort_indices()
        owner = np.repeat(np.arange(len(sets)), np.diff(product.indptr))
        return Answers(owner, product.indices.astype(np.int32), np.log2(product.data).astype(np.int8))

    @cached_property
    def _neighbours(self) -> Any:
        known = matrix(self.links.where(self.known), self.items)
        both = sparse.csr_array(known + known.T)
        both.sort_indices()
        return both

    def ways_to_grow(self, sets: np.ndarray) -> int:
        """At most this many; a neighbour of two members is counted twice."""
        return int(np.diff(self._neighbours.indptr)[sets].sum())

    def grow(self, sets: np.ndarray, share: float, random: np.random.Generator) -> np.ndarray:
        """A random share of the sets with one more member that a known link connects.

        A set of n could be grown from several subsets; it is taken from one of them only, the one without its last
        removable member. So it comes once, and with the same chance as any other.
        """
        grown = [np.empty((0, sets.shape[1] + 1), dtype=np.int32)]
        for start in range(0, len(sets), CHUNK):
            part = sets[start : start + CHUNK]
            near: Any = self._neighbours[part[:, 0]]
            for column in range(1, part.shape[1]):
                near = near + self._neighbours[part[:, column]]
            near = sparse.csr_array(near)
            near.sort_indices()
            owner, item = np.repeat(np.arange(len(part)), np.diff(near.indptr)), near.indices
            taken = (part[owner] != item[:, None]).all(axis=1)
            if share < 1:
                taken &= random.random(len(owner)) < share
            larger = np.column_stack([part[owner[taken]], item[taken]])
            grown.append(np.sort(larger[self._added_last(larger)], axis=1).astype(np.int32))
        return np.concatenate(grown)

    def _added_last(self, sets: np.ndarray) -> np.ndarray:
        """Whether a set's last column is the largest of the members that can be removed and leave it connected."""
        count, size = sets.shape
        linked = np.zeros((count, size, size), dtype=bool)
        for a in range(size):
            for b in range(a + 1, size):
                there = in_rows(self._neighbours.indptr, self._neighbours.indices, sets[:, a], sets[:, b])
                linked[:, a, b] = linked[:, b, a] = there
        last = np.ones(count, dtype=bool)
        for removed in range(size - 1):
            rest = [member for member in range(size) if member != removed]
            last &= (sets[:, removed] < sets[:, -1]) | ~_connected(linked[:, rest][:, :, rest])
        return last


def _connected(linked: np.ndarray) -> np.ndarray:
    """(Q, M, M) -> (Q,): every member reaches the first one."""
    reached = np.zeros(linked.shape[:2], dtype=bool)
    reached[:, 0] = True
    for _ in range(linked.shape[1] - 1):
        reached |= (linked & reached[:, :, None]).any(axis=1)
    return np.asarray(reached.all(axis=1))


class Found(NamedTuple):
    queries: QuerySet
    growable: np.ndarray  # the sets looked at that have any answer, held out or not
    looked_at: int
    complete: bool  # every set was looked at and none with a wanted answer left out


def find_answers(rule: Rule, parts: Iterator[np.ndarray], size: int, limit: int, train: bool) -> Found:
    """Look at sets of one size in their (random) order until `limit` of them have a wanted answer.

    Wanted at train: every answer. Later: those that are held out; the rest are known.
    """
    found: list[QuerySet] = [EMPTY]
    growable = [np.empty((0, size), dtype=np.int32)]
    listed = looked_at = left_out = 0
    for part in (piece for sets in parts for piece in _pieces(sets)):
        if listed >= limit:
            left_out += 1
            break
        answers = rule.answers(part)
        wanted = np.ones(len(answers.owner), dtype=bool) if train else answers.hardness > 0
        growable.append(part[np.unique(answers.owner)])
        having = np.unique(answers.owner[wanted])
        asked = having[: limit - listed]
        left_out += len(having) - len(asked)
        number = np.full(len(part), -1)
        number[asked] = np.arange(len(asked))
        owner = number[answers.owner]
        take, rest = wanted & (owner >= 0), ~wanted & (owner >= 0)
        found.append(
            QuerySet(
                rectangle(part[asked]),
                ragged(owner[take], answers.item[take], len(asked)),
                answers.hardness[take],
                ragged(owner[rest], answers.item[rest], len(asked)),
            )
        )
        listed += len(asked)
        looked_at += len(part)
    return Found(concatenate(found), np.concatenate(growable), looked_at, not left_out)


def _pieces(sets: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(sets), CHUNK):
        yield sets[start : start + CHUNK]
