"""Scores become probabilities, softmax(temperature * score), at the temperature that fits validation best.

Scores of different models have different units (counts, cosines, divergences): without this, the probabilities of
one are nearly even and those of another nearly certain, whatever the models know.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from logirec.evaluation.evaluate import Questions
from logirec.evaluation.ranks import TILE, Scores, places

QUERIES = 300
LOWEST_LOG = -50.0  # of an answer that a model rules out: dear, but not endless
STEPS = np.geomspace(1e-3, 1e3, 61)  # in units of the scores' spread
FAR = 6  # steps from one to the next of those that are tried first


@torch.no_grad()
def fitted_temperature(scores: Scores, asked: Questions, items: int, seed: int = 0) -> float:
    """The most likely for the answers of some of these queries, among the items that are not filtered out."""
    count = min(QUERIES, len(asked.queries))
    if not count:
        return 1.0
    chosen = np.sort(np.random.default_rng(seed).choice(len(asked.queries), count, replace=False))
    step = max(1, TILE // items)
    parts = [chosen[first : first + step] for first in range(0, count, step)]
    spread = _spread(_tile(scores, asked, part) for part in parts)
    if not spread:
        return 1.0

    def likely(steps: np.ndarray) -> np.ndarray:
        tiles = (_tile(scores, asked, part) for part in parts)  # scored again rather than kept
        found: np.ndarray = np.sum([_likelihoods(tile, steps / spread) for tile in tiles], axis=0)
        return found

    peaks = FAR * _peaks(likely(STEPS[::FAR]))  # mostly one: several where a model rules answers out
    near = np.unique((peaks[:, None] + np.arange(1 - FAR, FAR)).clip(0, len(STEPS) - 1))
    return float(STEPS[near[likely(STEPS[near]).argmax()]] / spread)


def _peaks(values: np.ndarray) -> np.ndarray:
    """The places of values that no neighbour is above."""
    walled = np.pad(values, 1, constant_values=-np.inf)
    return np.flatnonzero((values >= walled[:-2]) & (values >= walled[2:]))


class _Tile(NamedTuple):
    """Scores of some queries."""

    table: Tensor  # (B, N), -inf for what is filtered out
    own: Tensor  # (A,) of the answers
    owners: Tensor  # (A,) the query of each
    lengths: Tensor  # (B,) answers of each


def _tile(scores: Scores, asked: Questions, some: np.ndarray) -> _Tile:
    queries, filters = asked.queries.take(some), asked.filters.take(some)
    table = scores(queries.members).double().cpu()
    answers = places(queries.answers, table.device)
    own = table[answers]
    table[places(filters, table.device)] = -torch.inf
    table[answers] = own
    return _Tile(table, own, answers[0], torch.from_numpy(queries.answers.lengths))


def _spread(tiles: Iterator[_Tile]) -> float:
    """The standard deviation of all scores that are not filtered out."""
    count, total, squares, near = 0, 0.0, 0.0, 0.0
    for tile in tiles:
        open_ = tile.table[tile.table.isfinite()]
        near = near if count or not len(open_) else float(open_[0])
        open_ = open_ - near
        count, total, squares = count + len(open_), total + float(open_.sum()), squares + float(open_.square().sum())
    return max(0.0, (squares - total**2 / count) / (count - 1)) ** 0.5 if count > 1 else 0.0


def _likelihoods(tile: _Tile, steps: np.ndarray) -> np.ndarray:
    """(T,) the log-probability of each query's answers on the mean, summed over queries, at each temperature."""
    found = []
    for step in steps.tolist():
        logs = tile.own * step - (tile.table * step).logsumexp(1)[tile.owners]
        logs = logs.nan_to_num(nan=LOWEST_LOG).clamp(min=LOWEST_LOG)  # nan: nothing of its query is possible
        sums = torch.zeros(len(tile.lengths), dtype=torch.float64).index_add_(0, tile.owners, logs)
        found.append(float((sums / tile.lengths).sum()))
    return np.array(found)
