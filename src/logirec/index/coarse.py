"""A scan in whole numbers: a quarter of the bytes to read, and several times faster where processors multiply them.

Two digits are enough to say which items can be among the best, not to rank them. Both sides are taken from their
centres first, since a score is a small difference of large terms:

  q . w_i  =  (q - 1) . (w_i - mean)  +  1 . (w_i - mean)  +  q . mean
              (1) in int8                (2) of the item      (3) of the query
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from logirec.model.tensors import slices

WORTH_A_TRY = 1 << 23  # numbers in the catalogue; a smaller one is scanned in no time
MOST = 127
HALF = 63  # of the items' numbers, where processors add two products up in 16 bits
ZERO = 128  # where the queries' numbers begin: processors multiply bytes without a sign by bytes with one
BATCH = 8
AT_ONCE = 8192  # items: so few that their scores stay near the processor


class _Part(NamedTuple):
    """Some items in a row."""

    where: slice
    weights: Tensor  # in the order in which the product reads them
    steps: Tensor  # what 1 stands for in each
    zeros: Tensor


class Coarse:
    def __init__(self, weights: Tensor, offsets: Tensor) -> None:
        """Weights (N, 2D) and offsets (R, N) of the items."""
        self.mean = weights.mean(0)
        self.items, self.parts = len(weights), []
        most = MOST if _exact(weights.shape[1]) else HALF
        sums = torch.empty(self.items)
        for where in slices(self.items, AT_ONCE):  # a centred copy of them all would double the memory
            centred = weights[where] - self.mean
            rounded, steps = _rounded(centred, most)
            packed = torch.ops.onednn.qlinear_prepack(rounded.to(torch.int8), None)
            self.parts.append(_Part(where, packed, steps[:, 0], torch.zeros(len(centred), dtype=torch.int64)))
            sums[where] = centred.sum(1)
        self.offsets = offsets + sums  # (R, N)

    def scores(self, features: Tensor, offsets: Tensor, own: Tensor) -> Tensor:
        """(B, N) for queries (B, 2D) with their own part (B,), up to rounding; `offsets` are some of ours."""
        rounded, steps = _rounded(features - 1)
        asked = rounded.add_(ZERO).to(torch.uint8)
        own = (features @ self.mean + own)[:, None]
        table = torch.empty(len(asked), self.items)
        for part in self.parts:
            products = _products(asked, part).mul_(steps).add_(own)
            torch.add(offsets[..., part.where], products, out=table[:, part.where])
        return table


def _products(asked: Tensor, part: _Part) -> Tensor:
    """(B, n), in the items' steps."""
    found: Tensor = torch.ops.onednn.qlinear_pointwise(
        asked, 1.0, ZERO, part.weights, part.steps, part.zeros, None, 1.0, 0, torch.float32, "none", [], ""
    )
    return found


def _rounded(numbers: Tensor, most: int = MOST) -> tuple[Tensor, Tensor]:
    """Rows (B, 2D) as whole numbers up to the most, and what 1 stands for in each (B, 1)."""
    steps = numbers.abs().amax(1, keepdim=True).clamp(min=1e-30) / most
    return (numbers / steps).round_(), steps


def pays(weights: Tensor) -> bool:
    """Whether this machine scans these weights faster so: measured, as processors differ."""
    if weights.device.type != "cpu" or weights.numel() < WORTH_A_TRY:
        return False
    some = weights[: WORTH_A_TRY // weights.shape[1]]
    features, own = torch.rand(BATCH, weights.shape[1]), torch.zeros(1)
    try:
        coarse = Coarse(some, torch.zeros(1, len(some)))
        rounded = _fastest(lambda: coarse.scores(features, coarse.offsets[0], own))
        return rounded < 0.7 * _fastest(lambda: features @ some.T)
    except (AttributeError, RuntimeError):  # a torch that was built without this product
        return False


def _exact(length: int) -> bool:
    """Whether the largest products are right: on older processors they run over."""
    packed = torch.ops.onednn.qlinear_prepack(torch.full((1, length), MOST, dtype=torch.int8), None)
    part = _Part(slice(0, 1), packed, torch.ones(1), torch.zeros(1, dtype=torch.int64))
    asked = torch.full((1, length), MOST + ZERO, dtype=torch.uint8)
    return bool(_products(asked, part) == torch.tensor(float(length * MOST**2)))


def _fastest(work: Callable[[], object], times: int = 5) -> float:
    work()
    found = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        found.append(time.perf_counter() - started)
    return min(found)
