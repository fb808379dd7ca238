"""What a batch of queries costs.

Both losses score candidates: the whole catalogue where it is small enough, else a draw of it that all queries of the
step share. An item that is a true answer of a query is never a negative of it: it is left out of the sums.
"""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch.nn.functional import logsigmoid

from logirec.logic.beta import Beta
from logirec.logic.divergence import ItemFeatures, all_pairs, pairwise
from logirec.model.logirec import LogiRec
from logirec.training.batches import Batch, QueryTable

MOST_DRAWN_TARGETS = 32  # answers per query that are targets when the catalogue is too large to be scored whole
MOST_WEIGHT = 50  # answers beyond which a query's weight grows no more


@dataclass(frozen=True)
class Candidates:
    rows: Tensor | None  # (C,); None: the whole catalogue
    features: ItemFeatures  # of those rows

    def logits(self, model: LogiRec, batch: Batch, query: Beta) -> Tensor:
        return model.scored(batch.shape, all_pairs(query, self.features), self.rows)  # (B, C)


def draw_candidates(model: LogiRec, most: int, draws: Generator) -> Candidates:
    if model.items <= most:
        return Candidates(None, model.features())
    rows = torch.randint(model.items, (most,), generator=draws, device=draws.device)
    return Candidates(rows, model.features(rows))


def softmax_loss(
    model: LogiRec, table: QueryTable, batch: Batch, query: Beta, candidates: Candidates, draws: Generator
) -> Tensor:
    """Minus the mean log-probability of a query's answers, weighted by the root of their number."""
    logits = candidates.logits(model, batch, query)
    if candidates.rows is None:
        targets = table.targets(batch.queries, table.most_answers, draws)
        chosen = logits.gather(1, targets.rows)
        total = logits.logsumexp(1)
    else:
        targets = table.targets(batch.queries, MOST_DRAWN_TARGETS, draws)
        divergence = pairwise(query, model.features(targets.rows))
        chosen = model.scored(batch.shape, divergence, targets.rows)
        # Each drawn item stands for N / C of the catalogue; answers stand for themselves.
        stands_for = math.log(model.items / len(candidates.rows))
        wrong = logits.masked_fill(table.are_answers(batch.queries, candidates.rows.expand_as(logits)), -torch.inf)
        total = torch.logaddexp(
            wrong.logsumexp(1) + stands_for, chosen.masked_fill(~targets.real, -torch.inf).logsumexp(1)
        )
    real = targets.real.to(chosen.dtype)
    log_probability = ((chosen - total[:, None]) * real).sum(1) / real.sum(1)
    weight = targets.counts.clamp(max=MOST_WEIGHT).to(chosen.dtype).sqrt()
    return -(log_probability * weight).sum() / weight.sum()


def log_sigmoid_loss(
    model: LogiRec,
    table: QueryTable,
    batch: Batch,
    query: Beta,
    candidates: Candidates,
    draws: Generator,
    *,
    gamma: float,
    negatives: int,
) -> Tensor:
    """The paper's: a random answer must be nearer than gamma, random negatives further."""
    answer = table.one_answer(batch.queries, draws)[:, None]  # (B, 1)
    logits = candidates.logits(model, batch, query)
    places = torch.randint(logits.shape[1], (len(logits), negatives), generator=draws, device=draws.device)
    if candidates.rows is None:
        drawn = places
        near = logits.gather(1, answer)
    else:
        drawn = candidates.rows[places]
        near = model.scored(batch.shape, pairwise(query, model.features(answer)), answer)
    negative = ~table.are_answers(batch.queries, drawn)
    return margin_loss(-near[:, 0], -logits.gather(1, places), negative, table.counts[batch.queries], gamma)


def margin_loss(near: Tensor, far: Tensor, negative: Tensor, answers: Tensor, gamma: float) -> Tensor:
    """Divergences of the answer (B,) and of drawn items (B, M); a query with n answers weighs 1 / sqrt(4 + n)."""
    kept = negative.to(far.dtype)
    pushed = (logsigmoid(far - gamma) * kept).sum(1) / kept.sum(1).clamp(min=1)
    weight = (4 + answers.to(far.dtype)).rsqrt()
    return -((logsigmoid(gamma - near) + pushed) * weight).sum() / weight.sum()
