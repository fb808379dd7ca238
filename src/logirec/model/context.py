"""What stands around an item: learnt maps of bags of its neighbours, added to the item's own embedding.

    context(i) = sum over bags k of  map_k( sum of table[j] for j in bag_k(i) / sqrt(|bag_k(i)|) )

The bags are what is bought with the item, what it is bought with, and what it is viewed with. An item's own embedding
learns its training answers by heart; what its neighbours have in common says what is missing. After training the sum
is made once for every item.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from logirec.relation import Relation


class Bag(NamedTuple):
    """Neighbours of every item, by one relation."""

    relation: Relation
    rows: np.ndarray  # (N, K); zero beyond an item's own number of them
    counts: np.ndarray  # (N,)


class Hiding(NamedTuple):
    """Which links are out of sight in a training step: what a query is to find must not stand in its own context.

    A pair of items is hidden or not in both directions, by a hash: no list of what is hidden is needed anywhere.
    """

    salt: Tensor  # (1,) int64, drawn anew in each step
    share: float

    def hides(self, relation: Relation, one: Tensor, other: Tensor) -> Tensor:
        low, high = torch.minimum(one, other), torch.maximum(one, other)
        mixed = (low * 0x9E3779B97F4A7C1 + high * 0x2545F4914F6CDD1D + self.salt + int(relation)) * 0x5851F42D4C957F2D
        mixed = (mixed ^ (mixed >> 31)) * 0x14057B7EF767814F  # wraps round, as a hash may
        return (mixed >> 40) & 0xFFFFF < int(self.share * 0x100000)


class Context(nn.Module):
    def __init__(self, items: int, dims: int, bags: Sequence[Bag]) -> None:
        super().__init__()
        self.relations = [bag.relation for bag in bags]
        self.table = nn.Parameter(torch.empty(items, 2 * dims))
        self.maps = nn.ModuleList(nn.Linear(2 * dims, 2 * dims, bias=False) for _ in bags)
        for at, bag in enumerate(bags):
            self.register_buffer(f"rows{at}", torch.from_numpy(bag.rows.astype(np.int64)), persistent=False)
            self.register_buffer(f"counts{at}", torch.from_numpy(bag.counts.astype(np.int64)), persistent=False)

    def forward(self, items: Tensor, hiding: Hiding | None = None) -> Tensor:
        """(P,) rows -> (P, 2D)."""
        parts = []
        for at, (relation, change) in enumerate(zip(self.relations, self.maps, strict=True)):
            rows = self.get_buffer(f"rows{at}")[items]  # (P, K)
            kept = torch.arange(rows.shape[1], device=rows.device) < self.get_buffer(f"counts{at}")[items][:, None]
            if hiding is not None:
                kept = kept & ~hiding.hides(relation, items[:, None], rows)
            weights = kept.to(self.table.dtype)
            weights = weights * weights.sum(1, keepdim=True).clamp(min=1).rsqrt()
            parts.append(change(embedding_bag(rows, self.table, per_sample_weights=weights, mode="sum")))
        return torch.stack(parts).sum(0)
