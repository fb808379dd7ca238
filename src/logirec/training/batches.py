"""Training queries as tensors, and batches of them drawn without a Python loop.

A table has queries of one shape. Everything has fixed sizes, so that a whole training step can be captured as one
CUDA graph.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Generator, Tensor

from logirec.data.graph import ItemGraph, matrix
from logirec.data.query_sets import QuerySet, Ragged
from logirec.model.logirec import Shape
from logirec.relation import Relation


@dataclass(frozen=True)
class Batch:
    shape: Shape
    queries: Tensor  # (B,) places in the table
    members: Tensor  # (B, M)
    present: Tensor | None  # (B, M); None where every basket is full


@dataclass(frozen=True)
class Targets:
    rows: Tensor  # (B, K) answers; what is beyond a query's own number repeats others
    real: Tensor  # (B, K) which are its own
    counts: Tensor  # (B,) how many answers it has


class QueryTable:
    def __init__(self, shape: Shape, members: Ragged, answers: Ragged, items: int, device: torch.device) -> None:
        self.shape, self.items = shape, items
        size = int(members.lengths.max())
        present = np.arange(size) < members.lengths[:, None]
        padded = np.zeros(present.shape, dtype=np.int64)
        padded[present] = members.values
        self.members = torch.from_numpy(padded).to(device)
        self.present = None if present.all() else torch.from_numpy(present).to(device)
        self.starts = torch.from_numpy(answers.offsets[:-1].astype(np.int64)).to(device)
        self.counts = torch.from_numpy(answers.lengths.astype(np.int64)).to(device)
        self.answers = torch.from_numpy(answers.values.astype(np.int64)).to(device)
        self.most_answers = int(answers.lengths.max())
        # Every (query, answer) as one ascending number: whether an item is an answer is then a bisection.
        keys = answers.owners.astype(np.int64) * items + answers.values
        keys.sort()
        self.keys = torch.from_numpy(keys).to(device)

    def __len__(self) -> int:
        return len(self.members)

    def popularity(self) -> Tensor:
        """(N,) of how many queries each item is an answer."""
        return torch.bincount(self.answers, minlength=self.items)

    def draw(self, count: int, draws: Generator) -> Batch:
        queries = torch.randint(len(self), (count,), generator=draws, device=draws.device)
        present = None if self.present is None else self.present[queries]
        return Batch(self.shape, queries, self.members[queries], present)

    def one_answer(self, queries: Tensor, draws: Generator) -> Tensor:
        """(B,) a random answer of each query."""
        counts = self.counts[queries]
        at = (torch.rand(len(queries), generator=draws, device=draws.device) * counts).long()
        return self.answers[self.starts[queries] + at.clamp(max=counts - 1)]

    def targets(self, queries: Tensor, most: int, draws: Generator) -> Targets:
        """All answers of each query where it has at most `most`, else so many in a row from a random place."""
        counts = self.counts[queries][:, None]
        first = (torch.rand(counts.shape, generator=draws, device=draws.device) * counts).long()
        places = torch.arange(min(most, self.most_answers), device=queries.device)  # (K,)
        rows = self.answers[self.starts[queries][:, None] + (first + places) % counts]
        return Targets(rows, places < counts, counts[:, 0])

    def are_answers(self, queries: Tensor, rows: Tensor) -> Tensor:
        """Which rows (B, M) are answers of their query."""
        wanted = queries[:, None] * self.items + rows
        at = torch.searchsorted(self.keys, wanted).clamp(max=len(self.keys) - 1)
        return self.keys[at] == wanted


def link_queries(graph: ItemGraph, relation: Relation) -> tuple[Ragged, Ragged]:
    """Every item that has links of the relation, with what they lead to."""
    rows = matrix(graph.links[relation], graph.items)
    counts = np.diff(rows.indptr)
    asked = np.flatnonzero(counts)
    offsets = np.concatenate([[0], np.cumsum(counts[asked])])
    return Ragged(np.arange(len(asked) + 1), asked.astype(np.int32)), Ragged(offsets, rows.indices)


def up_to(queries: QuerySet, size: int) -> QuerySet:
    return queries.take(np.flatnonzero(queries.members.lengths <= size))
