"""How sure a model may be: among validation's best items, the share that were answers, by log-probability.

The curve is the best rising one (isotonic regression): of two recommendations the one that the model thinks likelier
is never called less sure.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from logirec.evaluation.evaluate import Questions
from logirec.evaluation.ranks import MOST_QUERIES, TILE, Scores
from logirec.evaluation.temperature import fitted_temperature

TOP_K = 20  # of each query, which is what people see
POINTS = 100  # of the curve, before it is made to rise
BINS = 10  # of the reliability table


class Shown(NamedTuple):
    """What would be shown: how likely the model thinks it, and whether it was an answer."""

    log_probability: np.ndarray
    answer: np.ndarray


def fitted_curve(scores: Scores, asked: Questions, items: int) -> dict[str, Any]:
    """temperature, and confidence as a rising function of log-probability at that temperature."""
    temperature = fitted_temperature(scores, asked, items)
    shown = _shown(scores, asked, items, temperature)
    order = np.argsort(shown.log_probability, kind="stable")
    parts = [part for part in np.array_split(order, POINTS) if len(part)]
    at = np.array([shown.log_probability[part].mean() for part in parts])
    share = rising(
        np.array([shown.answer[part].mean() for part in parts]), np.array([float(len(part)) for part in parts])
    )
    return {"temperature": temperature, "log_probability": at.tolist(), "confidence": share.tolist()}


def reliability(curve: dict[str, Any], scores: Scores, asked: Questions, items: int) -> dict[str, Any]:
    """Confidence against truth on other queries: mean of each, by bins of confidence, and their mean distance."""
    shown = _shown(scores, asked, items, curve["temperature"])
    confidence = np.interp(shown.log_probability, curve["log_probability"], curve["confidence"])
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    rows = []
    for number in range(BINS):
        mine = bins == number
        if mine.any():
            means = float(confidence[mine].mean()), float(shown.answer[mine].mean())
            rows.append({"confidence": means[0], "share": means[1], "count": int(mine.sum())})
    error = sum(row["count"] * abs(row["confidence"] - row["share"]) for row in rows) / max(1, len(confidence))
    return {"expected_error": error, "bins": rows}


def rising(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The nearest series that never falls: neighbours that fall are pooled until none does."""
    pools: list[list[float]] = []  # mean, weight, length
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pools.append([value, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, heavy, length = pools.pop()
            before = pools[-1]
            before[0] = (before[0] * before[1] + mean * heavy) / (before[1] + heavy)
            before[1] += heavy
            before[2] += length
    return np.repeat([pool[0] for pool in pools], [int(pool[2]) for pool in pools])


def _shown(scores: Scores, asked: Questions, items: int, temperature: float) -> Shown:
    parts = list(_tiles(scores, asked, items, temperature))
    return Shown(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


@torch.no_grad()
def _tiles(scores: Scores, asked: Questions, items: int, temperature: float) -> Iterator[Shown]:
    queries = asked.queries
    step = min(MOST_QUERIES, max(1, TILE // items))
    for first in range(0, len(queries), step):
        mine = np.arange(first, min(first + step, len(queries)))
        filters, answers = asked.filters.take(mine), queries.answers.take(mine)
        table = scores(queries.members.take(mine)).double().cpu() * temperature
        own = table[answers.owners, answers.values]
        table[filters.owners, filters.values] = -torch.inf
        table[answers.owners, answers.values] = own
        best = torch.log_softmax(table, dim=1).topk(min(TOP_K, items), dim=1)
        right = set(zip(answers.owners.tolist(), answers.values.tolist(), strict=True))
        rows = best.indices.numpy()
        is_answer = np.array([[(q, int(row)) in right for row in best_rows] for q, best_rows in enumerate(rows)])
        real = best.values.isfinite().numpy()
        yield Shown(best.values.numpy()[real], is_answer[real].astype(float))
