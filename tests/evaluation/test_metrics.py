"""Metrics against torchmetrics, and cases whose right value is known."""

import numpy as np
import pytest
import torch
from torchmetrics.functional.retrieval import (
    retrieval_hit_rate,
    retrieval_normalized_dcg,
    retrieval_reciprocal_rank,
)

from logirec.data.query_sets import Ragged, ragged
from logirec.evaluation.metrics import KS, intervals, per_query
from logirec.evaluation.ranks import Standing, stand

ITEMS = 30


def no_filters(queries: int) -> Ragged:
    return Ragged(np.zeros(queries + 1, np.int64), np.empty(0, np.int32))


def standing(scores: np.ndarray, answers: Ragged) -> Standing:
    """Raw standings of fixed scores."""
    baskets = Ragged(np.arange(len(scores) + 1), np.arange(len(scores), dtype=np.int32))
    table = torch.from_numpy(scores)
    return stand(
        lambda asked: table[asked.values].clone(), baskets, answers, no_filters(len(scores)), scores.shape[1]
    ).raw


def random_case(seed: int, levels: int | None) -> tuple[np.ndarray, np.ndarray, Ragged]:
    """Scores (Q, N), relevance and answers; few levels make ties."""
    random = np.random.default_rng(seed)
    scores = random.random((12, ITEMS)) if levels is None else random.integers(levels, size=(12, ITEMS)).astype(float)
    relevant = random.random((12, ITEMS)) < 0.15
    relevant[np.arange(12), random.integers(ITEMS, size=12)] = True
    owner, item = np.nonzero(relevant)
    return scores, relevant, ragged(owner, item, 12)


def theirs(metric, scores: np.ndarray, relevant: np.ndarray, **options) -> list[float]:
    return [
        float(metric(torch.from_numpy(s), torch.from_numpy(r.astype(np.int64)), **options))
        for s, r in zip(scores, relevant, strict=True)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_torchmetrics(seed):
    scores, relevant, answers = random_case(seed, levels=None)
    mine = per_query(standing(scores, answers), answers)
    np.testing.assert_allclose(mine["mrr"], theirs(retrieval_reciprocal_rank, scores, relevant), atol=1e-6)
    for k in KS:
        np.testing.assert_allclose(mine[f"hit@{k}"], theirs(retrieval_hit_rate, scores, relevant, top_k=k), atol=1e-6)
        np.testing.assert_allclose(
            mine[f"ndcg@{k}"], theirs(retrieval_normalized_dcg, scores, relevant, top_k=k), atol=1e-6
        )


@pytest.mark.parametrize("levels", [1, 2, 5])
@pytest.mark.parametrize("seed", range(10))
def test_agrees_with_torchmetrics_where_scores_tie(seed, levels):
    """It averages a tie's gains as we do; for rank and hits it takes whatever order the sort left, so it is given one:
    every answer in the middle of its tie."""
    scores, relevant, answers = random_case(seed, levels)
    mine = per_query(standing(scores, answers), answers)
    for k in KS:
        np.testing.assert_allclose(
            mine[f"ndcg@{k}"], theirs(retrieval_normalized_dcg, scores, relevant, top_k=k), atol=1e-6
        )
    scores = scores + 2  # torchmetrics takes a score that is not positive for "not retrieved"
    one = np.zeros_like(relevant)
    one[np.arange(12), answers.values[answers.offsets[:-1]]] = True  # the first answer alone
    middle = scores.copy()
    kept = np.ones(scores.shape, dtype=bool)
    for q in range(12):
        (answer,) = np.flatnonzero(one[q])
        others = np.flatnonzero((scores[q] == scores[q, answer]) & (np.arange(ITEMS) != answer))
        if len(others) % 2:  # no middle: drop one of them
            kept[q, others[-1]] = False
            others = others[:-1]
        middle[q, others[: len(others) // 2]] += 0.25
        middle[q, others[len(others) // 2 :]] -= 0.25
    alone = Ragged(np.arange(13), answers.values[answers.offsets[:-1]])
    lowered = np.where(kept, scores, 0.5)
    found = per_query(standing(lowered, alone), alone)
    ordered = np.where(kept, middle, 0.5)
    np.testing.assert_allclose(found["mrr"], theirs(retrieval_reciprocal_rank, ordered, one), atol=1e-6)
    for k in KS:
        np.testing.assert_allclose(found[f"hit@{k}"], theirs(retrieval_hit_rate, ordered, one, top_k=k), atol=1e-6)


def test_one_of_ten_answers_at_rank_one_is_not_perfect():
    scores = np.arange(100.0, 0, -1)[None]
    answers = Ragged(np.array([0, 10]), np.array([0, *range(90, 99)], dtype=np.int32))
    found = per_query(standing(scores, answers), answers)
    assert found["hit@3"] == found["mrr"] == 1
    assert found["ndcg@3"] == pytest.approx(1 / (1 + 1 / np.log2(3) + 1 / 2))
    assert found["ndcg_paper@3"] == 1.0  # the paper's own normalisation, kept under its own name


def test_shuffled_labels_fall_to_chance():
    random = np.random.default_rng(0)
    queries, items = 4000, 50
    scores = random.random((queries, items))
    answers = Ragged(np.arange(queries + 1), random.integers(items, size=queries).astype(np.int32))
    found = per_query(standing(scores, answers), answers)
    assert found["hit@10"].mean() == pytest.approx(10 / items, abs=0.02)
    assert found["mrr"].mean() == pytest.approx((1 / np.arange(1, items + 1)).mean(), abs=0.01)


def test_equal_scores_everywhere_are_the_middle_not_the_top():
    answers = Ragged(np.array([0, 1]), np.array([4], dtype=np.int32))
    found = per_query(standing(np.zeros((1, 9)), answers), answers)
    assert found["mrr"] == pytest.approx(1 / 5)
    assert found["hit@3"] == 0
    assert found["hit@5"] == 1


def test_intervals_hold_the_mean_and_shrink_with_queries():
    random = np.random.default_rng(1)
    few, many = (random.random(n) for n in (50, 5000))
    widths = []
    for values in (few, many):
        low, high = intervals({"x": values})["x"]
        assert low < values.mean() < high
        assert high - low == pytest.approx(2 * 1.96 * values.std() / len(values) ** 0.5, rel=0.15)
        widths.append(high - low)
    assert widths[1] < widths[0] / 5
