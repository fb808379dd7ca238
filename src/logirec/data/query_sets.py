"""Queries with their answers: the value that protocols make, training learns from and evaluation ranks."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from logirec.data.graph import Links, has_links, row_starts, slices

Stage = Literal["train", "valid", "test"]
Kind = Literal["low", "high"]
STAGES: tuple[Stage, ...] = ("train", "valid", "test")
TRAIN, VALID, TEST = range(3)  # places in STAGES
KINDS: tuple[Kind, ...] = ("low", "high")


class Ragged(NamedTuple):
    """Lists of numbers, one after the other: list q is values[offsets[q]:offsets[q + 1]]."""

    offsets: np.ndarray  # (Q + 1,) int32, or int64 where it must be
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
        offsets = _starts(lengths)
        at = np.arange(offsets[-1]) + np.repeat(self.offsets[lists] - offsets[:-1], lengths)
        return Ragged(offsets, self.values[at])


def ragged(owners: np.ndarray, values: np.ndarray, lists: int) -> Ragged:
    """Values with the number of their list, which ascends."""
    return Ragged(row_starts(owners, lists), values.astype(np.int32, copy=False))


def rectangle(rows: np.ndarray) -> Ragged:
    """Lists of one length."""
    count, length = rows.shape
    offsets: np.ndarray = np.arange(count + 1, dtype=_offset_type(rows.size)) * length
    return Ragged(offsets, rows.reshape(-1).astype(np.int32))


def joined(parts: list[Ragged]) -> Ragged:
    """The first list of each as one list, then the second of each, and so on."""
    owners = np.concatenate([part.owners for part in parts])
    values = np.concatenate([part.values for part in parts])
    order = np.argsort(owners, kind="stable")
    return ragged(owners[order], values[order], len(parts[0]))


def targets_of(links: Links, items: int, sources: np.ndarray) -> Ragged:
    """What each of the sources links to."""
    return Ragged(row_starts(links.source, items), links.target).take(sources)


def _starts(lengths: np.ndarray) -> np.ndarray:
    offsets: np.ndarray = np.zeros(len(lengths) + 1, dtype=_offset_type(int(lengths.sum())))
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _offset_type(total: int) -> type:
    return np.int32 if total <= np.iinfo(np.int32).max else np.int64


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
        stacked([s.members for s in sets]),
        stacked([s.answers for s in sets]),
        np.concatenate([s.hardness for s in sets]).astype(np.int8),
        stacked([s.known for s in sets]),
    )


def stacked(parts: list[Ragged]) -> Ragged:
    """The lists of one after those of the other."""
    offsets = _starts(np.concatenate([p.lengths for p in parts]))
    return Ragged(offsets, np.concatenate([p.values for p in parts]).astype(np.int32))


_NO_LISTS = Ragged(np.zeros(1, np.int32), np.empty(0, np.int32))
EMPTY = QuerySet(_NO_LISTS, _NO_LISTS, np.empty(0, np.int8), _NO_LISTS)


def low_queries(links: Links, held_out: np.ndarray, known: np.ndarray) -> QuerySet:
    """One query per source of a held-out link. The masks leave out the links that are co-views too."""
    starts = row_starts(links.source, int(links.source.max(initial=-1)) + 1)
    per_source = _count_by_source(links, held_out)
    asked = per_source > 0
    known = known & np.repeat(asked, np.diff(starts))
    answers = links.target[held_out]
    return QuerySet(
        rectangle(np.flatnonzero(asked)[:, None]),
        Ragged(_starts(per_source[asked]), answers),
        np.broadcast_to(np.int8(1), len(answers)),
        Ragged(_starts(_count_by_source(links, known)[asked]), links.target[known]),
    )


def _count_by_source(links: Links, mask: np.ndarray) -> np.ndarray:
    counts = np.zeros(int(links.source.max(initial=-1)) + 1, dtype=np.int32)
    for part in slices(len(links)):
        source = links.source[part][mask[part]]
        if len(source):
            first = source[0]  # the smallest: links are sorted
            counts[first : source[-1] + 1] += np.bincount(source - first).astype(np.int32)
    return counts


def missing_links(members: Ragged, answers: Ragged, links: Links, items: int) -> np.ndarray:
    """Per answer: how many of the query's members do not link to it."""
    owner = answers.owners
    per_answer = members.lengths[owner]
    answer_of = np.repeat(np.arange(len(owner)), per_answer)
    found = has_links(links, items, members.take(owner).values, answers.values[answer_of])
    missing: np.ndarray = per_answer - np.bincount(answer_of[found], minlength=len(owner))
    return missing.astype(np.int8)
