"""Rows of tables, and the largest of their numbers."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse

from logirec.baselines.rows import near, strongest
from tests.baselines.worlds import ragged_of


@pytest.mark.parametrize("most", [1, 3, 100])
def test_the_strongest_of_each_row_and_of_equal_ones_the_first(most):
    random = np.random.default_rng(0)
    numbers = random.integers(-4, 5, (40, 30)).astype(np.float32) * (random.random((40, 30)) < 0.6)
    numbers[7] = 0
    found = strongest(sparse.csr_array(numbers), most).toarray()
    for row, kept in zip(numbers, found, strict=True):
        best = sorted(np.flatnonzero(row), key=lambda place: (-abs(row[place]), place))[:most]
        assert np.flatnonzero(kept).tolist() == sorted(best)
        assert (kept[best] == row[best]).all()


def test_items_whose_lines_stand_near_each_other_are_orders_of_their_own():
    """In the sums over rows that are learnt from, two items add up as their lines stand."""
    orders = [[4, 1, 0, 2, 3], [0, 4], [2], [3, 1, 4]]
    expected = np.zeros((5, 5))
    for order in orders:
        for first, second in combinations(range(len(order)), 2):
            if second - first <= 3:
                weight = 0.5 ** (second - first - 1) / len(order) ** 0.5
                for a, b in product([order[first], order[second]], repeat=2):
                    expected[a, b] += weight
    rows = near(ragged_of(orders), 5)
    assert (np.diff(rows.indptr) == 2).all()
    np.testing.assert_allclose((rows.T @ rows).toarray(), expected, rtol=1e-5)
    assert near(ragged_of([[1], [2]]), 5).shape == (0, 5)
