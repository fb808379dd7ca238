"""Scores become probabilities, softmax(temperature * score), at the temperature that fits validation best.

Scores of different models have different units (counts, cosines, divergences): without this, the probabilities of
one are nearly even and those of another nearly certain, whatever the models know.
"""

import numpy as np
import torch

from logirec.evaluation.evaluate import Questions
from logirec.evaluation.ranks import Scores, places

QUERIES = 300
LOWEST_LOG = -50.0  # of an answer that a model rules out: dear, but not endless
STEPS = np.geomspace(1e-3, 1e3, 61)  # in units of the scores' spread


@torch.no_grad()
def fitted_temperature(scores: Scores, asked: Questions, seed: int = 0) -> float:
    """The most likely for the answers of some of these queries, among the items that are not filtered out."""
    count = min(QUERIES, len(asked.queries))
    if not count:
        return 1.0
    chosen = np.sort(np.random.default_rng(seed).choice(len(asked.queries), count, replace=False))
    queries, filters = asked.queries.take(chosen), asked.filters.take(chosen)
    table = scores(queries.members).double().cpu()
    answers = places(queries.answers, table.device)
    own = table[answers]
    table[places(filters, table.device)] = -torch.inf
    table[answers] = own
    open_ = table[table.isfinite()]
    spread = float(open_.std()) if len(open_) > 1 else 0.0
    if not spread:
        return 1.0
    owners, lengths = answers[0], torch.from_numpy(queries.answers.lengths)
    best, likely = 1.0, -torch.inf
    for temperature in STEPS / spread:
        logs = (own * temperature - (table * temperature).logsumexp(1)[owners]).clamp(min=LOWEST_LOG)
        mean = float((torch.zeros(count, dtype=torch.float64).index_add_(0, owners, logs) / lengths).mean())
        if mean > likely:
            best, likely = float(temperature), mean
    return best
