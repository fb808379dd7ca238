"""Queries with their answers: the value that protocols make, training learns from and evaluation ranks."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from logirec.data.graph import Links, contains, keys

Stage = Literal["train", "valid", "test"]
Kind = Literal["low", "high"]
STAGES: tuple[Stage, ...] = ("train", "valid", "test")
KINDS: tuple[Kind, ...] = ("low", "high")


class Ragged(NamedTuple):
    """Lists of numbers, one after the other: list q is values[offsets[q]:offsets[q + 1]]."""

    offsets: np.ndarray  # (Q + 1,) int64
    values: np.ndarray  # (total,) int32

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def list(self, q: int) -> np.ndarray:
        return self.values[self.offsets[q] : self.offsets[q + 1]]

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def owners(self) -> np.ndarray:
        """For each value, the list it stands in."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, lists: np.ndarray) -> "Ragged":
        lengths = self.lengths[lists]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(offsets[-1]) + np.repeat(self.offsets[lists] - offsets[:-1], lengths)
        return Ragged(offsets, self.values[at])


def ragged(owners: np.ndarray, values: np.ndarray, lists: int) -> Ragged:
    """Values with the number of their list, owners ascending."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=lists))]).astype(np.int64)
    return Ragged(offsets, values.astype(np.int32))


def rectangle(rows: np.ndarray) -> Ragged:
    """Lists of one length."""
    return Ragged(np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1], rows.reshape(-1).astype(np.int32))


@dataclass(frozen=True)
class QuerySet:
    members: Ragged  # the basket of each query
    answers: Ragged  # right items to be found; at train, to be learnt
    hardness: np.ndarray  # per answer: how many of its links the stage does not know
    known: Ragged  # right items already derivable: filtered out of the ranking

    def __len__(self) -> int:
        return len(self.members)

    def take(self, queries: np.ndarray) -> "QuerySet":
        at = Ragged(self.answers.offsets, np.arange(len(self.answers.values))).take(queries).values
        return QuerySet(
            self.members.take(queries),
            self.answers.take(queries),
            self.hardness[at],
            self.known.take(queries),
        )


def concatenate(sets: list[QuerySet]) -> QuerySet:
    return QuerySet(
        _stack([s.members for s in sets]),
        _stack([s.answers for s in sets]),
        np.concatenate([s.hardness for s in sets]).astype(np.int8),
        _stack([s.known for s in sets]),
    )


def _stack(parts: list[Ragged]) -> Ragged:
    lengths = np.concatenate([p.lengths for p in parts])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Ragged(offsets, np.concatenate([p.values for p in parts]).astype(np.int32))


EMPTY = QuerySet(
    Ragged(np.zeros(1, np.int64), np.empty(0, np.int32)),
    Ragged(np.zeros(1, np.int64), np.empty(0, np.int32)),
    np.empty(0, np.int8),
    Ragged(np.zeros(1, np.int64), np.empty(0, np.int32)),
)


def low_queries(links: Links, held_out: np.ndarray, known: np.ndarray) -> QuerySet:
    """One query per source of a held-out link; the masks are over links that are not co-views."""
    asked = np.unique(links.source[held_out])
    query_of = np.full(int(links.source.max(initial=0)) + 1, -1, dtype=np.int64)
    query_of[asked] = np.arange(len(asked))
    known = known & (query_of[links.source] >= 0)
    return QuerySet(
        rectangle(asked[:, None]),
        ragged(query_of[links.source[held_out]], links.target[held_out], len(asked)),
        np.ones(int(held_out.sum()), dtype=np.int8),
        ragged(query_of[links.source[known]], links.target[known], len(asked)),
    )


def missing_links(members: Ragged, answers: Ragged, links: Links, items: int) -> np.ndarray:
    """Per answer: how many of the query's members do not link to it."""
    sorted_keys = keys(links.source, links.target, items)
    owner = answers.owners
    per_answer = members.lengths[owner]
    answer_of = np.repeat(np.arange(len(owner)), per_answer)
    member = members.take(owner).values
    found = contains(sorted_keys, keys(member, answers.values[answer_of], items))
    missing: np.ndarray = per_answer - np.bincount(answer_of[found], minlength=len(owner))
    return missing.astype(np.int8)
