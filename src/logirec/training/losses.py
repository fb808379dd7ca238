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
from logirec.model.context import Hiding
from logirec.model.logirec import LogiRec
from logirec.training.batches import Batch

MOST_DRAWN_TARGETS = 32  # answers per query that are targets when the catalogue is too large to be scored whole
MOST_WEIGHT = 50  # answers beyond which a query's weight grows no more


@dataclass(frozen=True)
class Candidates:
    rows: Tensor | None  # (C,); None: the whole catalogue
    features: ItemFeatures  # of those rows


@dataclass(frozen=True)
class Scored:
    """A batch of queries with their scores for the candidates."""

    batch: Batch
    query: Beta
    scores: Tensor  # (B, C)
    candidates: Candidates


def draw_candidates(model: LogiRec, most: int, draws: Generator) -> Candidates:
    if model.items <= most:
        return Candidates(None, model.features())
    rows = torch.randint(model.items, (most,), generator=draws, device=draws.device)
    return Candidates(rows, model.features(rows))


def new_hiding(share: float, draws: Generator) -> Hiding:
    return Hiding(torch.randint(2**62, (1,), generator=draws, device=draws.device), share)


def score(
    model: LogiRec,
    batches: list[Batch],
    candidates: Candidates,
    draws: Generator | None,
    hiding: Hiding | None = None,
) -> list[Scored]:
    """All batches in one pass of the network and one matrix product."""
    queries = model.ask([batch.asked for batch in batches], draws, hiding)
    together = Beta(*(torch.cat(parts) for parts in zip(*queries, strict=True)))
    divergence = all_pairs(together, candidates.features).split_with_sizes([len(batch.queries) for batch in batches])
    return [
        Scored(batch, query, model.scored(batch.asked.shape, part, candidates.rows), candidates)
        for batch, query, part in zip(batches, queries, divergence, strict=True)
    ]


def softmax_loss(model: LogiRec, scored: Scored, draws: Generator, hiding: Hiding | None = None) -> Tensor:
    """Minus the mean log-probability of a query's answers, weighted by the root of their number.

    Where links are hidden, the answers with a hidden link are asked for; the others are known, as in evaluation.
    """
    batch, scores, rows = scored.batch, scored.scores, scored.candidates.rows
    table = batch.table
    if rows is None:
        targets = table.answers.of(batch.queries, table.answers.longest, draws)
        wanted = targets.real
        chosen = scores.gather(1, targets.rows)
        if hiding is not None:
            hidden = _hidden(hiding, batch, targets.rows)
            wanted = wanted & hidden
            known = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, targets.rows, ~hidden)
            scores = scores.masked_fill(known, -torch.inf)
        total = scores.logsumexp(1)
    else:
        targets = table.answers.of(batch.queries, MOST_DRAWN_TARGETS, draws)
        wanted = targets.real if hiding is None else targets.real & _hidden(hiding, batch, targets.rows)
        chosen = _own_scores(model, scored, targets.rows)
        # Each drawn item stands for N / C of the catalogue; answers stand for themselves.
        wrong = scores.masked_fill(table.are_answers(batch.queries, rows.expand_as(scores)), -torch.inf)
        others = wrong.logsumexp(1) + math.log(model.items / len(rows))
        total = torch.logaddexp(others, chosen.masked_fill(~wanted, -torch.inf).logsumexp(1))
    real = wanted.to(chosen.dtype)
    counts = targets.counts if hiding is None else wanted.sum(1)
    log_probability = ((chosen - total[:, None]) * real).sum(1) / real.sum(1).clamp(min=1)
    weight = counts.clamp(max=MOST_WEIGHT).to(chosen.dtype).sqrt()
    return -(log_probability * weight).sum() / weight.sum().clamp(min=1)


def _hidden(hiding: Hiding, batch: Batch, rows: Tensor) -> Tensor:
    """Which answers (B, K) have a hidden link from a member of their basket."""
    asked = batch.asked
    hidden = hiding.hides(asked.shape.relation, asked.members[:, :, None], rows[:, None])
    if asked.present is not None:
        hidden = hidden & asked.present[:, :, None]
    return hidden.any(1)


def log_sigmoid_loss(model: LogiRec, scored: Scored, draws: Generator, *, gamma: float, negatives: int) -> Tensor:
    """The paper's: a random answer must be nearer than gamma, random negatives further."""
    batch, scores, rows = scored.batch, scored.scores, scored.candidates.rows
    answer = batch.table.answers.of(batch.queries, 1, draws).rows  # (B, 1)
    places = torch.randint(scores.shape[1], (len(scores), negatives), generator=draws, device=draws.device)
    near = scores.gather(1, answer) if rows is None else _own_scores(model, scored, answer)
    negative = ~batch.table.are_answers(batch.queries, places if rows is None else rows[places])
    counts = batch.table.answers.counts[batch.queries]
    return margin_loss(-near[:, 0], -scores.gather(1, places), negative, counts, gamma)


def _own_scores(model: LogiRec, scored: Scored, rows: Tensor) -> Tensor:
    """Scores of each query's own items (B, M), whether or not they are among the candidates."""
    return model.scored(scored.batch.asked.shape, pairwise(scored.query, model.features(rows)), rows)


def margin_loss(near: Tensor, far: Tensor, negative: Tensor, answers: Tensor, gamma: float) -> Tensor:
    """Divergences of the answer (B,) and of drawn items (B, M); a query with n answers weighs 1 / sqrt(4 + n)."""
    kept = negative.to(far.dtype)
    pushed = (logsigmoid(far - gamma) * kept).sum(1) / kept.sum(1).clamp(min=1)
    weight = (4 + answers.to(far.dtype)).rsqrt()
    return -((logsigmoid(gamma - near) + pushed) * weight).sum() / weight.sum()
