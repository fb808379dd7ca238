"""How strong an item's links are beside each other."""

import numpy as np
import pytest

from logirec.data.graph import Links, standing

SOURCE = np.array([0, 0, 0, 0, 2, 2], dtype=np.int32)
TARGET = np.array([1, 2, 3, 4, 0, 1], dtype=np.int32)


def links(*weights: float) -> Links:
    return Links(SOURCE, TARGET, np.array(weights, dtype=np.float32))


def test_standing_is_the_share_of_stronger_links_of_the_same_item():
    found = standing(links(0.25, 1, 0.5, 0.5, 3, 7), 3)
    np.testing.assert_allclose(found, [0.75, 0, 0.25, 0.25, 0.5, 0])


def test_links_as_strong_as_each_other_stand_alike():
    assert not standing(links(1, 1, 1, 1, 0.5, 0.5), 3).any()
    assert len(standing(Links(*(np.empty(0, np.int32),) * 2, np.empty(0, np.float32)), 3)) == 0


def test_nothing_but_the_order_counts():
    """A gap where a link was held out does not show."""
    whole, gaps = standing(links(1 / 1, 1 / 2, 1 / 3, 1 / 4, 1, 1 / 2), 3), standing(links(1, 0.1, 0.09, 1e-6, 9, 8), 3)
    np.testing.assert_array_equal(whole, gaps)


@pytest.mark.parametrize("seed", range(3))
def test_standing_against_counting_one_by_one(seed):
    random = np.random.default_rng(seed)
    pairs = np.unique(random.integers(9, size=(60, 2)), axis=0).astype(np.int32)
    some = Links(*pairs.T, random.integers(1, 5, len(pairs)).astype(np.float32))
    expected = [
        np.mean(some.weight[some.source == source] > weight)
        for source, weight in zip(some.source, some.weight, strict=True)
    ]
    np.testing.assert_allclose(standing(some, 9), expected, rtol=1e-6)
