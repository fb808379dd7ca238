"""Metrics per query from where its answers stand. Pure: numbers in, numbers out.

hit@k       an answer is among the first k
ndcg@k      gains of the answers among the first k over those of the ideal list of min(k, answers); the gain of a tied
            answer is its mean over the places that the tie covers
ndcg_paper@k  the paper's: divided by the ideal list of the answers *found*, so one of ten, at rank 1, scores 1.0
mrr         1 / rank of the best answer
"""

import numpy as np

from logirec.data.query_sets import Ragged
from logirec.evaluation.ranks import Standing

KS = (1, 3, 5, 10, 20)
NAMES = (*(f"{name}@{k}" for name in ("hit", "ndcg", "ndcg_paper") for k in KS), "mrr")

_DISCOUNTS = 1 / np.log2(np.arange(2, max(KS) + 2))  # of rank 1, 2, ...
_IDEAL = np.concatenate([[0.0], np.cumsum(_DISCOUNTS)])  # of a list of n answers


def per_query(standing: Standing, answers: Ragged) -> dict[str, np.ndarray]:
    """Each metric for each query; every query has an answer."""
    first = answers.offsets[:-1]
    counts = answers.lengths
    ranks = standing.ranks

    def per(values: np.ndarray) -> np.ndarray:
        total: np.ndarray = np.add.reduceat(values.astype(np.float64), first)
        return total

    best = np.minimum.reduceat(ranks, first)
    found = {"mrr": 1 / best}
    for k in KS:
        within = ranks <= k
        hits = per(within).astype(int)
        found[f"hit@{k}"] = (best <= k).astype(float)
        found[f"ndcg@{k}"] = per(_gains(standing, k)) / _IDEAL[np.minimum(counts, k)]
        paper = per(np.where(within, 1 / np.log2(1 + ranks), 0))
        found[f"ndcg_paper@{k}"] = paper / _IDEAL[np.maximum(1, np.minimum(hits, k))]
    return {name: found[name] for name in NAMES}


def _gains(standing: Standing, k: int) -> np.ndarray:
    """Mean discount over the places better + 1 ... better + 1 + ties, of which those beyond k give nothing."""
    last = np.minimum(standing.better + 1 + standing.ties, k)
    covered = _IDEAL[last] - _IDEAL[np.minimum(standing.better, k)]
    gains: np.ndarray = covered / (1 + standing.ties)
    return gains


def intervals(values: dict[str, np.ndarray], seed: int = 0, rounds: int = 1000) -> dict[str, tuple[float, float]]:
    """Bootstrap 95 % intervals of the means, queries drawn with replacement, the same draws for every metric."""
    table = np.column_stack(list(values.values()))  # (Q, metrics)
    draws = np.random.default_rng(seed)
    means = np.empty((rounds, table.shape[1]))
    for r in range(rounds):
        times = np.bincount(draws.integers(len(table), size=len(table)), minlength=len(table))
        means[r] = times @ table / len(table)
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    return {name: (float(a), float(b)) for name, a, b in zip(values, low, high, strict=True)}
