"""Confidence: rising, right on the data it was fitted to, and honest on new data."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logirec.data.query_sets import QuerySet, ragged, rectangle
from logirec.evaluation.calibration import fitted_curve, reliability, rising
from logirec.evaluation.evaluate import Questions
from logirec.model.confidence import Curve, uncertainty
from logirec.model.logirec import Beta

ITEMS = 60


def world(seed: int, queries: int = 400, knows: float = 1.0):
    """Scores and answers that were drawn by them; `knows` blurs what the model says."""
    random = torch.Generator().manual_seed(seed)
    truth = torch.randn(queries, ITEMS, generator=random, dtype=torch.float64) * 1.5 - 3
    answers = torch.rand(queries, ITEMS, generator=random) < torch.sigmoid(truth)
    answers[torch.arange(queries), 1 + torch.arange(queries) % (ITEMS - 1)] = True
    answers[:, 0] = False
    said = truth * knows + torch.randn(queries, ITEMS, generator=random) * (1 - knows)
    owners, values = answers.nonzero(as_tuple=True)
    members = rectangle(np.arange(queries)[:, None])
    found = ragged(owners.numpy(), values.numpy(), queries)
    filters = rectangle(np.zeros((queries, 1), dtype=int))
    asked = Questions(QuerySet(members, found, np.ones(len(values), np.int8), filters), filters)
    return (lambda baskets: said[torch.from_numpy(baskets.values.astype(np.int64))].clone()), asked


@pytest.mark.parametrize("knows", [1.0, 0.4, 0.0])
def test_it_is_honest_on_new_queries_however_much_the_model_knows(knows):
    curve = fitted_curve(*world(0, knows=knows), ITEMS)
    assert np.diff(curve["confidence"]).min() >= 0
    trust = reliability(curve, *world(1, knows=knows), ITEMS)
    assert trust["expected_error"] < 0.04
    assert sum(row["count"] for row in trust["bins"]) == 400 * 20
    spread = max(curve["confidence"]) - min(curve["confidence"])
    assert spread > 0.4 if knows == 1 else spread < 0.75


def test_a_model_that_shouts_is_found_out():
    scores, asked = world(0)
    curve = fitted_curve(scores, asked, ITEMS)
    curve["confidence"] = [1.0] * len(curve["confidence"])
    assert reliability(curve, scores, asked, ITEMS)["expected_error"] > 0.3


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 5)), min_size=1, max_size=12))
def test_rising_is_the_nearest_series_that_never_falls(pairs):
    values, weights = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    found = rising(values, weights)
    assert (np.diff(found) >= -1e-12).all()
    assert np.average(found, weights=weights) == pytest.approx(np.average(values, weights=weights))
    # By its definition: the largest of the smallest means of what lies around each place.
    n = len(values)
    mean = lambda a, b: np.average(values[a:b], weights=weights[a:b])  # noqa: E731
    expected = [max(min(mean(a, b) for b in range(i + 1, n + 1)) for a in range(i + 1)) for i in range(n)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_curve_gives_what_was_fitted():
    points = {"log_probability": [-4.0, -2.0, 0.0], "confidence": [0.1, 0.3, 0.9]}
    curve = Curve({"temperature": 2.0, "knows": True, **points})
    scores = np.array([1.0, -0.5, -100.0, 50.0])
    found = curve.confidence(scores, 4.0)  # log-probabilities -2, -5, ...
    assert found == pytest.approx([0.3, 0.1, 0.1, 0.9])
    with pytest.raises(ValueError, match="does not rise"):
        Curve({"temperature": 1.0, "knows": True, "log_probability": [0.0, 1.0], "confidence": [0.5, 0.4]})


def test_uncertainty_is_one_where_nothing_is_known_and_falls_with_evidence():
    found = uncertainty(
        Beta(
            torch.tensor([[1.0, 1.0], [10.0, 10.0], [20.0, 0.05]]),
            torch.tensor([[1.0, 1.0], [10.0, 10.0], [20.0, 20.0]]),
        )
    )
    assert found[0] == pytest.approx(1)
    assert 1 > found[1] > found[2] > 0
