import numpy as np
import pytest
import torch

from logirec.data.query_sets import Ragged
from logirec.evaluation.asymmetry import degree_of_asymmetry


def table_scores(table: torch.Tensor):
    return lambda baskets: table[torch.from_numpy(baskets.values.astype(np.int64))].clone()


def by_definition(table: torch.Tensor) -> float:
    """Pair by pair, as the paper writes it."""
    items = len(table)
    total = 0.0
    probability = torch.softmax(table.double().fill_diagonal_(-torch.inf), dim=1)
    for q in range(items):
        for p in range(q):
            total += abs(float(probability[q, p] - probability[p, q]))
    return total / items


def test_equals_the_definition():
    table = torch.randn(40, 40, generator=torch.Generator().manual_seed(0)) * 3
    found = degree_of_asymmetry(table_scores(table), 40)
    assert found.degree == pytest.approx(by_definition(table), rel=1e-9)
    assert found.standard_error == found.pairs == 0


def test_sampled_agrees_with_exact_within_its_error():
    table = torch.randn(300, 300, generator=torch.Generator().manual_seed(1)) * 4
    exact = degree_of_asymmetry(table_scores(table), 300)
    sampled = degree_of_asymmetry(table_scores(table), 300, exact_up_to=10, draws=5000)
    assert sampled.pairs == 5000
    assert 0 < sampled.standard_error < 0.02
    assert abs(sampled.degree - exact.degree) < 4 * sampled.standard_error


def by_definition_over_pairs(table: torch.Tensor) -> float:
    joint = table.double().fill_diagonal_(-torch.inf).exp()
    joint = joint / joint.sum()
    return sum(abs(float(joint[q, p] - joint[p, q])) for q in range(len(table)) for p in range(q))


@pytest.mark.parametrize("scale", [0.1, 5.0])
def test_a_score_that_is_the_same_both_ways_has_none_when_normalised_over_pairs(scale):
    vectors = torch.randn(300, 8, generator=torch.Generator().manual_seed(2)) * scale
    scores = table_scores(vectors @ vectors.T)
    assert degree_of_asymmetry(scores, 300, pairwise=True).degree < 1e-6
    assert degree_of_asymmetry(scores, 300, pairwise=True, exact_up_to=10, draws=2000).degree < 1e-6
    assert degree_of_asymmetry(scores, 300).degree > 1e-4  # its normaliser alone looks like direction


def test_pairwise_equals_its_definition_and_the_sampled_agrees():
    table = torch.randn(200, 200, generator=torch.Generator().manual_seed(3))
    exact = degree_of_asymmetry(table_scores(table), 200, pairwise=True)
    assert exact.degree == pytest.approx(by_definition_over_pairs(table.clone()), rel=1e-9)
    sampled = degree_of_asymmetry(table_scores(table), 200, pairwise=True, exact_up_to=10, draws=5000)
    assert abs(sampled.degree - exact.degree) < 4 * sampled.standard_error < 0.1


def test_a_model_that_treats_all_items_alike_in_both_directions_has_none():
    """Equal scores everywhere: P(p|q) = P(q|p)."""
    found = degree_of_asymmetry(lambda b: torch.zeros(len(b), 20), 20)
    assert found.degree == pytest.approx(0, abs=1e-12)


def test_a_cycle_is_as_asymmetric_as_can_be():
    table = torch.full((12, 12), -1e4)
    table[torch.arange(12), (torch.arange(12) + 1) % 12] = 0
    assert degree_of_asymmetry(table_scores(table), 12).degree == pytest.approx(1)
    baskets = Ragged(np.arange(2), np.zeros(1, np.int32))
    assert table_scores(table)(baskets).shape == (1, 12)


def test_a_row_that_rules_everything_out_says_nothing():
    table = torch.randn(30, 30, generator=torch.Generator().manual_seed(4))
    table[3] = -torch.inf
    even = table.clone()
    even[3] = 0
    for exact in (5000, 10):
        found, expected = (
            degree_of_asymmetry(table_scores(t), 30, exact_up_to=exact, draws=500) for t in (table, even)
        )
        assert found == expected
        assert found.degree == found.degree  # a number
