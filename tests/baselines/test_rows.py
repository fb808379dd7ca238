"""Rows of tables, and the largest of their numbers."""

import numpy as np
import pytest
from scipy import sparse

from logirec.baselines.rows import strongest


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
