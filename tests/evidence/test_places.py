"""Where evidence has something to say, and what it comes to."""

from itertools import product

import numpy as np
from scipy import sparse

from logirec.evidence.places import CURVES, Places
from tests.baselines.worlds import ragged_of
from tests.evidence.test_gathering import tables_in


def test_places_hold_every_table(leak_free):
    tables = list(tables_in(leak_free)["low"].values())
    place = Places(tables)
    assert (np.diff(place.keys) > 0).all()
    for table in tables:
        whole = sparse.csr_array((place.values(table), place.targets, place.starts), table.shape)
        np.testing.assert_allclose(whole.toarray(), table.toarray(), rtol=1e-6)
    baskets = ragged_of([[3], [5, 9, 12], [5, 5]])
    owners, rows, sums = place.sums(baskets, [place.values(table) for table in tables[:2]])
    for at, members in enumerate(([3], [5, 9, 12], [5])):
        for column, (table, curve) in enumerate(product(tables[:2], CURVES)):
            expected = curve(table.toarray()[members]).sum(0)
            found = np.zeros(leak_free.items)
            found[rows[owners == at]] = sums[owners == at, column]
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_what_is_viewed_with_a_member_does_not_count_where_substitutes_are_not_wanted(leak_free):
    tables = tables_in(leak_free)["low"]
    place = Places(list(tables.values()), tables["viewed"])
    baskets, values = ragged_of([[item] for item in range(leak_free.items)]), [place.values(tables["regression"])]
    owners, rows, _ = place.sums(baskets, values)
    viewed = tables["viewed"].toarray()[owners, rows] > 0
    assert 0 < viewed.sum() < len(viewed)
    found = place.sums(baskets, values, unlike=True)[:2]
    assert np.array_equal(np.stack(found), np.stack([owners[~viewed], rows[~viewed]]))


def test_curves_have_a_number_for_what_speaks_against_a_pair():
    assert all(np.isfinite(curve(np.array([-3.0, 0.0, 2.0]))).all() for curve in CURVES)
