"""Beta embeddings: an item, or a query, is D independent Beta distributions."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import hardtanh

# The one range of all parameters. It is closed under negation (1 / HIGHEST = LOWEST), wide enough for a divergence of
# several thousand at D = 400, and narrow enough for float32 to tell neighbours apart.
HIGHEST = 20.0
LOWEST = 1 / HIGHEST


class Beta(NamedTuple):
    alpha: Tensor  # (..., D)
    beta: Tensor  # (..., D)


def positive(raw: Tensor) -> Beta:
    """Free numbers (..., 2D) -> parameters in the range; zero is Beta(1, 1), which says nothing."""
    alpha, beta = within_range(raw + 1).chunk(2, dim=-1)
    return Beta(alpha, beta)


def within_range(parameters: Tensor) -> Tensor:
    """clamp, by the function whose gradient is one kernel instead of four."""
    return hardtanh(parameters, LOWEST, HIGHEST)


def stack(operands: list[Beta]) -> Beta:
    """Operands side by side: (B, M, D)."""
    return Beta(torch.stack([o.alpha for o in operands], dim=1), torch.stack([o.beta for o in operands], dim=1))
