"""What goes with an item, by one linear map: as solving for each target by itself would have it."""

import numpy as np
import pytest
from scipy import sparse

from logirec.baselines.rows import co_purchases
from logirec.evidence import regression
from logirec.evidence.regression import STRENGTH, both_ways


def dense_features(dataset, fade):
    """Bought and itself, sold, viewed, words: the same in numpy, with nothing left out."""
    bought = co_purchases(dataset, fade=fade).toarray()
    views = np.zeros_like(bought)
    links = dataset.graph().links[regression.Relation.CO_VIEW]
    views[links.source, links.target] = views[links.target, links.source] = 1
    parts = []
    for table in (bought + np.eye(len(bought)), bought.T, views):
        lengths = np.linalg.norm(table, axis=1, keepdims=True)
        parts.append(table / np.where(lengths > 0, lengths, 1))
    return np.concatenate([*parts, regression.bags(dataset).toarray()], axis=1).astype(np.float64)


def alone(features, target, without):
    """Ridge regression of one column on all others but those `without`."""
    used = np.delete(features, without, axis=1)
    weights = np.linalg.solve(used.T @ used + STRENGTH * np.eye(used.shape[1]), used.T @ features[:, target])
    return used @ weights


@pytest.mark.parametrize(("most", "fade"), [(20_000, 0.0), (700, 0.0), (700, 0.5), (100, 0.0), (100, 0.5)])
def test_it_is_what_solving_for_each_target_by_itself_gives(leak_free, monkeypatch, most, fade):
    monkeypatch.setattr(regression, "MOST_COLUMNS", most)
    items, every = leak_free.items, dense_features(leak_free, fade)
    counts = (every != 0).sum(0) - 1
    kept = np.sort(np.argsort(-counts, kind="stable")[:most])
    dropped = np.setdiff1d(np.arange(every.shape[1]), kept[counts[kept] > 0])
    assert (most < 20_000) == bool((counts[dropped] > 0).any())
    assert (most == 100) == (items >= every.shape[1] - len(dropped))  # both inverses, of columns and of items
    forward, backward = both_ways(leak_free, fade=fade)
    for found, block in ((forward, 0), (backward, 1)):
        some = found.targets[:: max(1, len(found.targets) // 12)]
        if found.backward:
            asked = sparse.csr_array((np.ones(len(some), np.float32), (np.arange(len(some)), some)), (len(some), items))
            scores = found.largest(asked, items).toarray()
        else:
            scores = found.largest(sparse.eye_array(items, format="csr", dtype=np.float32), items).toarray()[:, some].T
        for row, target in zip(scores, some, strict=True):
            named = [target, items + target, 2 * items + target]
            expected = alone(every, block * items + target, np.union1d(named, dropped))
            np.testing.assert_allclose(row, np.maximum(expected, 0), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("fade", [0.0, 0.5])
def test_of_a_large_catalogue_what_occurs_least_is_solved_for_among_what_is_like_it(leak_free, monkeypatch, fade):
    monkeypatch.setattr(regression, "HEAD", 7)
    monkeypatch.setattr(regression, "MOST_TARGETS", 5)
    monkeypatch.setattr(regression, "MOST_NEAR", 1_000)
    monkeypatch.setattr("logirec.baselines.tail.LONGEST", 1_000)
    items, every = leak_free.items, dense_features(leak_free, fade)
    whole = sparse.eye_array(items, format="csr", dtype=np.float32)
    for found, block in zip(both_ways(leak_free, fade=fade), (0, 1), strict=True):
        scores = found.largest(whole, items).toarray()
        scores = scores if found.backward else scores.T
        linked = np.flatnonzero((every[:, block * items : (block + 1) * items] != 0).sum(0) > 1)
        others = np.setdiff1d(linked, found.targets)
        assert (len(found.targets), len(others) > 20) == (5, True)
        for target in others[::9]:
            wanted = every[:, block * items + target]
            near = np.flatnonzero(every @ (every.T @ wanted) > 0)
            features = np.delete(every[near], [target, items + target, 2 * items + target], axis=1)
            products = features @ features.T
            expected = np.zeros(items)
            expected[near] = products @ np.linalg.solve(products + STRENGTH * np.eye(len(near)), wanted[near])
            np.testing.assert_allclose(scores[target], np.maximum(expected, 0), rtol=1e-3, atol=1e-5)
    monkeypatch.setattr(regression, "LONGEST", 0)  # what is named in too many rows is left out
    assert not both_ways(leak_free)[0].tail.nnz


def test_more_targets_than_have_weights_are_solved_for_however_small_the_catalogue(leak_free, monkeypatch):
    """A dense inverse that holds all items need not hold all targets."""
    monkeypatch.setattr(regression, "MOST_TARGETS", 40)
    for found, linked in zip(both_ways(leak_free), (co_purchases(leak_free), co_purchases(leak_free).T), strict=True):
        assert len(found.targets) == 40
        asked = sparse.eye_array(leak_free.items, format="csr", dtype=np.float32)
        scores = found.largest(asked, leak_free.items)
        reached = np.flatnonzero(np.diff((scores if found.backward else scores.T).tocsr().indptr))
        assert len(reached) > 0.9 * len(np.unique(linked.tocoo().coords[1]))


def test_no_pair_is_predicted_from_itself(leak_free):
    for found in both_ways(leak_free):
        place = {int(column): at for at, column in enumerate(kept_columns(leak_free))}
        for at, target in enumerate(found.targets):
            named = [place[c] for c in range(target, 3 * leak_free.items, leak_free.items) if c in place]
            weights = found.weights.T if found.backward else found.weights  # (columns, targets)
            np.testing.assert_allclose(weights[named, at], 0, atol=1e-5)


def kept_columns(dataset):
    return np.flatnonzero((dense_features(dataset, fade=0.0) != 0).sum(0) > 1)
