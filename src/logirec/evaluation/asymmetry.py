"""The paper's degree of asymmetry, for any model whose scores give probabilities.

asy = 1/N * sum over unordered pairs |P(p|q) - P(q|p)|,  P(.|q) = softmax of the scores of all items but q.

A sum over pairs is an expectation: draw q evenly and p from P(.|q); a pair {p, q} then comes with density
(P(p|q) + P(q|p)) / N, so  asy = E[ |x - y| / (x + y) ]  with x = P(p|q), y = P(q|p). Each draw is between 0 and 1,
which makes a good estimate cheap however large the catalogue is.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from logirec.data.query_sets import rectangle
from logirec.evaluation.ranks import TILE, Scores

EXACT_UP_TO = 5_000  # items; the exact sum needs all N x N scores, twice


class Asymmetry(NamedTuple):
    degree: float
    standard_error: float  # 0 where it is exact
    pairs: int  # drawn; 0 where it is exact


def degree_of_asymmetry(
    scores: Scores, items: int, exact_up_to: int = EXACT_UP_TO, draws: int = 20_000, seed: int = 0
) -> Asymmetry:
    return _exact(scores, items) if items <= exact_up_to else _sampled(scores, items, draws, seed)


def _probabilities(scores: Scores, anchors: np.ndarray) -> Tensor:
    """(B, N) in float64; an item is not its own complement."""
    table = scores(rectangle(anchors[:, None])).double()
    table[torch.arange(len(anchors)), torch.from_numpy(anchors)] = -torch.inf
    return torch.softmax(table, dim=1)


@torch.no_grad()
def _exact(scores: Scores, items: int) -> Asymmetry:
    step = max(1, TILE // items)
    table = torch.cat([_probabilities(scores, np.arange(a, min(a + step, items))).cpu() for a in range(0, items, step)])
    return Asymmetry(float((table - table.T).abs().sum() / 2 / items), 0.0, 0)


@torch.no_grad()
def _sampled(scores: Scores, items: int, draws: int, seed: int) -> Asymmetry:
    random = torch.Generator().manual_seed(seed)
    anchors = torch.randint(items, (draws,), generator=random).numpy()
    values = []
    step = max(1, TILE // items)
    for a in range(0, draws, step):
        q = anchors[a : a + step]
        forward = _probabilities(scores, q).cpu()
        p = torch.multinomial(forward, 1, generator=random)[:, 0].numpy()
        backward = _probabilities(scores, p).cpu()
        each = torch.arange(len(q))
        x, y = forward[each, torch.from_numpy(p)], backward[each, torch.from_numpy(q)]
        values.append((x - y).abs() / (x + y))
    found = torch.cat(values)
    return Asymmetry(float(found.mean()), float(found.std() / draws**0.5), draws)
