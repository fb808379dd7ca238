"""The report on a dataset, for scores whose quality is known."""

import numpy as np
import pytest
import torch

from logirec.data.query_sets import KINDS
from logirec.evaluation.evaluate import evaluate, questions
from logirec.evaluation.metrics import NAMES


def perfect(dataset, stage):
    """Scores 1 for the held-out answers of a basket."""
    answers = {}
    for kind in KINDS:
        queries = dataset.queries(stage, kind)
        for q in range(len(queries)):
            answers[tuple(queries.members.list(q).tolist())] = queries.answers.list(q)

    def scores(baskets):
        table = torch.zeros(len(baskets), dataset.items)
        for b in range(len(baskets)):
            table[b, torch.from_numpy(answers[tuple(baskets.list(b).tolist())].astype(np.int64))] = 1
        return table

    return scores


def test_perfect_scores_are_perfect(leak_free):
    report = evaluate(perfect(leak_free, "test"), leak_free)
    for kind in KINDS:
        for ranking in ("filtered", "raw"):
            found = report[kind][ranking]
            # Several answers tie at the top, so the best of n stands at (n + 1) / 2; gains are averaged, not lost.
            assert found["ndcg@20"] == pytest.approx(1)
            assert found["hit@20"] == 1
            assert found["queries"] == len(leak_free.queries("test", kind))


def test_report_has_every_metric_interval_and_group(leak_free):
    report = evaluate(
        lambda b: torch.rand(len(b), leak_free.items, generator=torch.Generator().manual_seed(0)), leak_free
    )
    for kind in KINDS:
        filtered = report[kind]["filtered"]
        assert set(NAMES) <= filtered.keys()
        for name in NAMES:
            low, high = filtered["intervals"][name]
            assert low <= filtered[name] <= high
        groups = filtered["groups"]
        assert set(groups) == {"basket_size", "held_out_links", "popularity"}
        answers = len(leak_free.queries("test", kind).answers.values)
        for values in groups.values():
            assert sum(group["answers"] for group in values.values()) == answers
        sizes = leak_free.queries("test", kind).members.lengths
        assert {name: g["queries"] for name, g in groups["basket_size"].items()} == {
            str(size): int((sizes == size).sum()) for size in np.unique(sizes)
        }
        # Random scores: no better than chance in any group.
        assert filtered["mrr"] < 0.1
    assert list(report["high"]["filtered"]["groups"]["basket_size"]) == ["2", "3", "4"]


def test_fewer_queries_are_a_fixed_draw(leak_free):
    one, two = (questions(leak_free, "test", "high", most=20, seed=3).queries.members.values for _ in range(2))
    assert len(one) >= 40
    assert np.array_equal(one, two)
