"""What a search of the catalogue brings up for a batch of queries."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from logirec.logic.beta import Beta
from logirec.model.evidence import Support
from logirec.relation import Relation

BLOCK = 64  # items that are looked at together


class Best(NamedTuple):
    """The best items of each query, best first."""

    rows: Tensor  # (B, K); -1 where no more items are allowed
    scores: Tensor  # (B, K); -inf there


class Heights(NamedTuple):
    """How high items stand among all that a query scores: what makes the scores of two queries comparable."""

    above: Tensor  # (B, M) standard deviations above the mean
    deviation: Tensor  # (B,)


@dataclass(frozen=True)
class Scan(ABC):
    """The best items. What a caller rules out comes off these; where too few are left, `again`."""

    rows: Tensor  # (B, K) best first, ties to the lower row
    scores: Tensor  # (B, K)
    floor: Tensor  # (B,) every item that scores more is among the rows
    again: Callable[[int, int, Tensor], Best]  # of one query, so many, none of them forbidden (N,)

    @abstractmethod
    def log_sums(self, temperatures: Sequence[float], without: Sequence[Sequence[int]]) -> list[float]:
        """Of each query logsumexp(temperature * score) over the catalogue, without some items; 0 at temperature 0."""


@dataclass(frozen=True)
class WholeScan(Scan):
    table: Tensor  # (B, N) all scores, rounded where they are below the floor

    def log_sums(self, temperatures: Sequence[float], without: Sequence[Sequence[int]]) -> list[float]:
        return [self._log_sum(at, *wanted) for at, wanted in enumerate(zip(temperatures, without, strict=True))]

    def _log_sum(self, line: int, temperature: float, without: Sequence[int]) -> float:
        if not temperature:
            return 0.0
        out = set(without)
        most = temperature * self._best_without(line, out)
        if most == -torch.inf:
            return most
        # A line at a time, in as few passes as can be: it stays near the processor.
        above = torch.add(self.table.new_tensor(-most), self.table[line], alpha=temperature).exp_()
        above[list(out)] = 0
        return float(above.sum().double().log()) + most

    def _best_without(self, line: int, out: set[int]) -> float:
        for row, score in zip(self.rows[line].tolist(), self.scores[line].tolist(), strict=True):
            if row not in out:
                return float(score)
        scores = self.table[line].clone()
        scores[list(out)] = -torch.inf
        return float(scores.max())


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

    def heights(self, queries: Beta, relation: Relation | Sequence[Relation], rows: Tensor) -> Heights:
        """Of each query's own items (B, M), by the model's own scores: evidence has something to say of few items."""
        ...


def largest(table: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """What topk gives of each row of (B, N), in a third of the time: items are looked at block by block, and the blocks
    with the best first items hold all of the best ones."""
    items = table.shape[1]
    blocks = items // BLOCK
    if count > blocks // 4:  # nearly all of them would be looked at twice
        values, rows = table.topk(count, dim=1)
        return values, rows
    firsts = table[:, : blocks * BLOCK].view(-1, blocks, BLOCK).amax(2)
    starts = firsts.topk(count, dim=1, sorted=False).indices[:, :, None] * BLOCK
    rows = (starts + torch.arange(BLOCK, device=table.device)).flatten(1)
    rest = torch.arange(blocks * BLOCK, items, device=table.device).expand(len(rows), -1)
    rows = torch.cat([rows, rest], dim=1)
    values, places = table.gather(1, rows).topk(count, dim=1)
    return values, rows.gather(1, places)


def in_order(rows: Tensor, scores: Tensor) -> Best:
    """Best first, ties to the lower row."""
    order = torch.argsort(rows, dim=1)
    rows, scores = rows.gather(1, order), scores.gather(1, order)
    order = torch.argsort(scores, dim=1, descending=True, stable=True)
    return Best(rows.gather(1, order), scores.gather(1, order))


def alone(
    line: int, queries: Beta, relation: Relation | Sequence[Relation], support: Support | None
) -> tuple[Beta, Relation, Support | None]:
    """One query of a batch, as a batch of its own."""
    one = Beta(*(part[line : line + 1] for part in queries))
    along = relation if isinstance(relation, Relation) else relation[line]
    return one, along, None if support is None else support.some(torch.tensor([line]))


def one_hot(relation: Relation | Sequence[Relation], count: int) -> Tensor:
    """(B, R): 1 at each query's relation."""
    each = [relation] * count if isinstance(relation, Relation) else relation
    found = torch.zeros(count, len(Relation))
    found[torch.arange(count), torch.tensor([int(own) for own in each])] = 1
    return found
