"""KL(item ; query) as an inner product.

With psi = digamma, s = a + b, an item (a, b) and a query (A, B), in each dimension

  KL = ln B(A, B) - ln B(a, b) + (a - A) psi(a) + (b - B) psi(b) + (A + B - s) psi(s)
     = ln B(A, B)                                                  (1) the query's offset
     + A (psi(s) - psi(a)) + B (psi(s) - psi(b))                   (2) the query (A, B) times the item's weights
     - ln B(a, b) - a (psi(s) - psi(a)) - b (psi(s) - psi(b))      (3) the item's offset

Summed over dimensions, (2) is a dot product of 2D numbers: the divergence of a query from every item is one matrix
product, and the nearest items are those of the smallest product.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from logirec.logic.beta import Beta


class ItemFeatures(NamedTuple):
    weights: Tensor  # (..., 2D)
    offset: Tensor  # (...,)


def item_features(items: Beta) -> ItemFeatures:
    return ItemFeatures(*_ItemFeatures.apply(items.alpha, items.beta))  # type: ignore[no-untyped-call]


def query_features(query: Beta) -> Tensor:
    return torch.cat(query, dim=-1)  # (..., 2D)


def query_offset(query: Beta) -> Tensor:
    return _log_beta(query.alpha, query.beta).sum(-1)


def all_pairs(query: Beta, items: ItemFeatures) -> Tensor:
    """Divergence of every query (B, D) from every item (N, D)."""
    offsets = query_offset(query)[:, None] + items.offset
    with all_bits():
        return torch.addmm(offsets, query_features(query), items.weights.T)  # (B, N)


def pairwise(query: Beta, items: ItemFeatures) -> Tensor:
    """Divergence of query b from its own items: (B, D) and (B, M, D) -> (B, M)."""
    with all_bits():
        products = torch.einsum("bd,bmd->bm", query_features(query), items.weights)
    return query_offset(query)[:, None] + items.offset + products


@contextmanager
def all_bits() -> Iterator[None]:
    """A small divergence is the difference of large terms: TF32's ten bits would drown it."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)


class _ItemFeatures(torch.autograd.Function):
    """Weights and offset of items, with a gradient by hand: three trigammas where autograd would take nine.

    With t = psi', gradients g1, g2 of the two weights and g of the offset:
      d/da = (g1 + g2 - g s) t(s) - (g1 - g a) t(a),   d/db = (g1 + g2 - g s) t(s) - (g2 - g b) t(b)
    """

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(a, b)
        psi = torch.digamma(a + b)
        first, second = psi - torch.digamma(a), psi - torch.digamma(b)
        offset = -(_log_beta(a, b) + a * first + b * second).sum(-1)
        return torch.cat((first, second), dim=-1), offset

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_weights: Tensor, grad_offset: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.saved_tensors
        g1, g2 = grad_weights.chunk(2, dim=-1)
        g, s = grad_offset[..., None], a + b
        shared = (g1 + g2 - g * s) * torch.polygamma(1, s)
        return shared - (g1 - g * a) * torch.polygamma(1, a), shared - (g2 - g * b) * torch.polygamma(1, b)
