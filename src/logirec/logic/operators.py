"""The three operators: each takes Beta embeddings and returns one."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import linear

from logirec.logic.beta import Beta, positive


def negation(embedding: Beta) -> Beta:
    """Where the embedding is dense its negation is sparse, and the other way round. Its own inverse."""
    return Beta(1 / embedding.alpha, 1 / embedding.beta)


class Projection(nn.Module):
    """Moves an embedding along a relation: a network on (alpha, beta, relation). Direction lives here."""

    def __init__(self, dims: int, width: int, layers: int, relations: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = dropout
        self.relation = nn.Parameter(torch.empty(relations, dims))
        self.enter = nn.Linear(2 * dims, width)
        self.enter_relation = nn.Linear(
            dims, width, bias=False
        )  # beside `enter`: one matrix on (alpha, beta, relation)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(layers - 1))
        self.leave = nn.Linear(width, 2 * dims)

    def forward(self, moves: Sequence["Move"], draws: Generator | None = None) -> list[list[Beta]]:
        """Every embedding moved along each of its relations, all in one pass of the network.

        The relations of one embedding share the first product. `draws` is given while training and decides what is
        dropped.
        """
        entered = self.enter(torch.cat([torch.cat(move.embedding, dim=-1) for move in moves]))
        along = linear(self.relation, self.enter_relation.weight)
        parts = entered.split_with_sizes([len(move.embedding.alpha) for move in moves])
        x = torch.cat([part + along[r] for part, move in zip(parts, moves, strict=True) for r in move.relations]).relu()
        for layer in self.hidden:
            x = layer(x).relu()
        if draws is not None and self.dropout:
            x = x * torch.empty_like(x).bernoulli_(1 - self.dropout, generator=draws) / (1 - self.dropout)
        out = positive(self.leave(x))
        sizes = [len(move.embedding.alpha) for move in moves for _ in move.relations]
        moved = map(Beta, out.alpha.split_with_sizes(sizes), out.beta.split_with_sizes(sizes))
        return [list(islice(moved, len(move.relations))) for move in moves]


class Move(NamedTuple):
    """An embedding (B, D) to be moved along relations."""

    embedding: Beta
    relations: tuple[int, ...]


class Intersection(nn.Module):
    """A mean of the operands, weighted per dimension by attention on the operands themselves."""

    def __init__(self, dims: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(2 * dims, 2 * dims)
        self.attend = nn.Linear(2 * dims, dims)

    def logits(self, operands: Beta) -> Tensor:
        """(..., D): what each operand asks for, whatever it meets."""
        logits: Tensor = self.attend(self.hidden(torch.cat(operands, dim=-1)).relu())
        return logits

    def shares(self, logits: Tensor, present: Tensor | None = None) -> Tensor:
        """(B, M, D), summing to 1 over the operands that are present (B, M)."""
        if present is not None:
            logits = logits.masked_fill(~present[..., None], -torch.inf)
        return torch.softmax(logits, dim=1)

    def weights(self, operands: Beta, present: Tensor | None = None) -> Tensor:
        return self.shares(self.logits(operands), present)

    def forward(self, operands: Beta, present: Tensor | None = None) -> Beta:
        weights = self.weights(operands, present)
        return Beta((weights * operands.alpha).sum(1), (weights * operands.beta).sum(1))
