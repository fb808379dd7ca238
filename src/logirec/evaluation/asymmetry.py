"""The paper's degree of asymmetry, for any model that gives scores.

asy = 1/N * sum over unordered pairs |P(p|q) - P(q|p)|

With J(q, p) = P(p|q) / N, the chance of the ordered pair when q is drawn evenly, it is half of the summed |J - J'|:
between 0 and 1. The paper leaves open what P is. Here exp(score) is normalised

- per query, for models of what follows a basket: P(.|q) = softmax of the scores of all items but q;
- over all pairs at once, for `pairwise` models, whose score belongs to the pair and not to one of its directions
  (products of item vectors). Normalised per query they would look directed by their normaliser alone.

A sum over pairs is an expectation: draw (q, p) from J; a pair {p, q} then comes with chance J(q, p) + J(p, q), so
asy = E[ |x - y| / (x + y) ] with x = J(q, p), y = J(p, q). Each draw is between 0 and 1, which makes a good estimate
cheap however large the catalogue is. For pairwise models q is drawn evenly and weighted with its normaliser.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from logirec.data.query_sets import rectangle
from logirec.evaluation.evaluate import Questions
from logirec.evaluation.ranks import TILE, Scores
from logirec.evaluation.temperature import fitted_temperature

EXACT_UP_TO = 5_000  # items; the exact sum needs all N x N scores, twice


class Asymmetry(NamedTuple):
    degree: float
    standard_error: float  # 0 where it is exact
    pairs: int  # drawn; 0 where it is exact


def asymmetry(scores: Scores, items: int, asked: Questions | None, pairwise: bool = False) -> dict[str, Any]:
    """At the temperature that fits validation's queries best, where there are any."""
    temperature = 1.0 if asked is None else fitted_temperature(scores, asked, items)
    found = degree_of_asymmetry(lambda baskets: scores(baskets) * temperature, items, pairwise)
    return {**found._asdict(), "temperature": temperature}


def degree_of_asymmetry(
    scores: Scores,
    items: int,
    pairwise: bool = False,
    exact_up_to: int = EXACT_UP_TO,
    draws: int = 5_000,
    seed: int = 0,
) -> Asymmetry:
    if items <= exact_up_to:
        return _exact(scores, items, pairwise)
    return _sampled(scores, items, pairwise, draws, seed)


def _log_scores(scores: Scores, anchors: np.ndarray) -> Tensor:
    """(B, N) in float64; an item is not its own complement."""
    table = scores(rectangle(anchors[:, None])).double().cpu()
    table[~table.isfinite().any(1)] = 0.0  # a model that rules out all it has says nothing
    table[torch.arange(len(anchors)), torch.from_numpy(anchors)] = -torch.inf
    return table


@torch.no_grad()
def _exact(scores: Scores, items: int, pairwise: bool) -> Asymmetry:
    step = max(1, TILE // items)
    parts = [_log_scores(scores, np.arange(a, min(a + step, items))) for a in range(0, items, step)]
    table = torch.cat(parts)
    joint = torch.softmax(table.view(-1), dim=0).view_as(table) if pairwise else torch.softmax(table, dim=1) / items
    return Asymmetry(float((joint - joint.T).abs().sum() / 2), 0.0, 0)


@torch.no_grad()
def _sampled(scores: Scores, items: int, pairwise: bool, draws: int, seed: int) -> Asymmetry:
    random = torch.Generator().manual_seed(seed)
    anchors = torch.randint(items, (draws,), generator=random).numpy()
    values, normalisers = [], []
    step = max(1, TILE // items)
    for a in range(0, draws, step):
        q = anchors[a : a + step]
        forward = _log_scores(scores, q)
        total = forward.logsumexp(1)
        p = torch.multinomial((forward - total[:, None]).exp(), 1, generator=random)[:, 0].numpy()
        backward = _log_scores(scores, p)
        each = torch.arange(len(q))
        x, y = forward[each, torch.from_numpy(p)], backward[each, torch.from_numpy(q)]
        if not pairwise:
            x, y = x - total, y - backward.logsumexp(1)
        values.append(torch.tanh((x - y).abs() / 2))  # |e^x - e^y| / (e^x + e^y)
        normalisers.append(total)
    found, total = torch.cat(values), torch.cat(normalisers)
    weights = torch.softmax(total if pairwise else torch.zeros_like(total), dim=0)
    degree = (weights * found).sum()
    error = (weights**2 * (found - degree) ** 2).sum().sqrt()
    return Asymmetry(float(degree), float(error), draws)
