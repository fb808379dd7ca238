"""Training queries as tensors, and batches of them drawn without a Python loop.

A table has queries of one shape. Everything has fixed sizes, so that a whole training step can be captured as one
CUDA graph.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from logirec.data.graph import ItemGraph
from logirec.data.query_sets import QuerySet, Ragged, rectangle, targets_of
from logirec.model.logirec import Asked, Shape
from logirec.relation import Relation


@dataclass(frozen=True)
class Batch:
    table: "QueryTable"
    queries: Tensor  # (B,) places in the table
    asked: Asked


class Rows(NamedTuple):
    """Lists of different lengths side by side."""

    rows: Tensor  # (B, K); what is beyond a list's own length repeats others
    real: Tensor  # (B, K) which are its own
    counts: Tensor  # (B,) how long the lists are


class Lists:
    """A ragged list of rows on a device."""

    def __init__(self, lists: Ragged, device: torch.device) -> None:
        self.starts = torch.from_numpy(lists.offsets[:-1].astype(np.int64)).to(device)
        self.counts = torch.from_numpy(lists.lengths.astype(np.int64)).to(device)
        self.values = torch.from_numpy(lists.values.astype(np.int64)).to(device)
        self.longest = int(lists.lengths.max(initial=0))

    def of(self, queries: Tensor, most: int, draws: Generator) -> Rows:
        """Whole lists where they have at most `most` rows, else so many in a row from a random place."""
        counts = self.counts[queries][:, None]
        first = (torch.rand(counts.shape, generator=draws, device=draws.device) * counts).long()
        places = torch.arange(min(most, self.longest), device=queries.device)  # (K,)
        at = self.starts[queries][:, None] + (first + places) % counts.clamp(min=1)
        return Rows(self.values[at.clamp(max=len(self.values) - 1)], places < counts, counts[:, 0])


class QueryTable:
    def __init__(self, shape: Shape, members: Ragged, answers: Ragged, items: int, device: torch.device) -> None:
        self.shape, self.items = shape, items
        size = int(members.lengths.max())
        present = np.arange(size) < members.lengths[:, None]
        padded = np.zeros(present.shape, dtype=np.int64)
        padded[present] = members.values
        self.members = torch.from_numpy(padded).to(device)
        self.present = None if present.all() else torch.from_numpy(present).to(device)
        self.answers = Lists(answers, device)
        # Every (query, answer) as one ascending number: whether an item is an answer is then a bisection.
        keys = answers.owners.astype(np.int64) * items + answers.values
        keys.sort()
        self.keys = torch.from_numpy(keys).to(device)

    def __len__(self) -> int:
        return len(self.members)

    def draw(self, count: int, draws: Generator) -> Batch:
        queries = torch.randint(len(self), (count,), generator=draws, device=draws.device)
        present = None if self.present is None else self.present[queries]
        return Batch(self, queries, Asked(self.shape, self.members[queries], present))

    def are_answers(self, queries: Tensor, rows: Tensor) -> Tensor:
        """Which rows (B, M) are answers of their query."""
        wanted = queries[:, None] * self.items + rows
        at = torch.searchsorted(self.keys, wanted).clamp(max=len(self.keys) - 1)
        return self.keys[at] == wanted


def link_queries(graph: ItemGraph, relation: Relation) -> tuple[Ragged, Ragged]:
    """Every item that has links of the relation, with what they lead to."""
    sources = np.unique(graph.links[relation].source)
    return rectangle(sources[:, None]), targets_of(graph.links[relation], graph.items, sources)


def up_to(queries: QuerySet, size: int) -> QuerySet:
    return queries.take(np.flatnonzero(queries.members.lengths <= size))
