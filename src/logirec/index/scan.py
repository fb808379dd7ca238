"""What a search of the catalogue brings up for a batch of queries."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from logirec.logic.beta import Beta
from logirec.model.evidence import Support
from logirec.relation import Relation


class Best(NamedTuple):
    """The best items of each query, best first."""

    rows: Tensor  # (B, K); -1 where no more items are allowed
    scores: Tensor  # (B, K); -inf there


class Spread(NamedTuple):
    """Of the scores that a query gives the catalogue: what makes those of two queries comparable."""

    mean: Tensor  # (B,)
    deviation: Tensor  # (B,)


@dataclass(frozen=True)
class Scan(ABC):
    """The best items. What a caller rules out comes off these, and enough must be left."""

    rows: Tensor  # (B, K) best first, ties to the lower row
    scores: Tensor  # (B, K)
    floor: Tensor  # (B,) every item that scores more is among the rows

    @abstractmethod
    def log_sums(self, temperatures: Sequence[float], without: Sequence[Sequence[int]]) -> list[float]:
        """Of each query logsumexp(temperature * score) over the catalogue, without some items; 0 at temperature 0.

        Once: it uses the scan up.
        """


@dataclass(frozen=True)
class WholeScan(Scan):
    table: Tensor  # (B, N) all scores, rounded where they are below the floor

    def log_sums(self, temperatures: Sequence[float], without: Sequence[Sequence[int]]) -> list[float]:
        owners = torch.from_numpy(np.repeat(np.arange(len(without)), [len(rows) for rows in without]))
        rows = torch.tensor([row for some in without for row in some], dtype=torch.int64)
        table = self.table
        table[owners, rows] = -torch.inf
        most = table.amax(1, keepdim=True).clamp(min=torch.finfo(table.dtype).min)  # -inf where all of it is left out
        scale = torch.tensor(temperatures).to(table)
        # In place, as a copy costs more than the sum: the table is used up.
        sums = table.sub_(most).mul_(scale[:, None]).exp_().sum(1).double().log()
        return [
            0.0 if not t else found for t, found in zip(temperatures, (sums + scale * most[:, 0]).tolist(), strict=True)
        ]


class Index(Protocol):
    """Where items are found. The relation is that of all queries, or of each; evidence is added to their scores."""

    def scan(
        self, queries: Beta, relation: Relation | Sequence[Relation], depth: int, support: Support | None = None
    ) -> Scan: ...

    def scores_of(
        self, queries: Beta, relation: Relation | Sequence[Relation], rows: Tensor, support: Support | None = None
    ) -> Tensor:
        """(B, M): of each query's own items (B, M) only."""
        ...

    def spread(self, queries: Beta, relation: Relation | Sequence[Relation]) -> Spread:
        """Of the model's own scores: evidence has something to say of few items."""
        ...

    def search(
        self,
        queries: Beta,
        relation: Relation,
        top_k: int,
        forbidden: Tensor | None = None,
        support: Support | None = None,
    ) -> Best:
        """`forbidden` (N,) is never among the best."""
        ...


def in_order(rows: Tensor, scores: Tensor) -> Best:
    """Best first, ties to the lower row."""
    order = torch.argsort(rows, dim=1)
    rows, scores = rows.gather(1, order), scores.gather(1, order)
    order = torch.argsort(scores, dim=1, descending=True, stable=True)
    return Best(rows.gather(1, order), scores.gather(1, order))


def one_hot(relation: Relation | Sequence[Relation], count: int) -> Tensor:
    """(B, R): 1 at each query's relation."""
    each = [relation] * count if isinstance(relation, Relation) else relation
    found = torch.zeros(count, len(Relation))
    found[torch.arange(count), torch.tensor([int(own) for own in each])] = 1
    return found
