"""Baselines that learn from links or orders, each against the plainest code that says the same."""

from itertools import combinations

import numpy as np
import pytest
import torch
from scipy import sparse

from logirec.baselines.base import Unsuited, members_last
from logirec.baselines.ease import Ease
from logirec.baselines.item2vec import Item2Vec
from logirec.baselines.lookup import Lookup
from logirec.baselines.popularity import Popularity
from logirec.baselines.registry import BASELINES
from logirec.baselines.row_cosine import RowCosine
from logirec.baselines.rows import co_purchases, near, strongest
from logirec.baselines.rules import Rules
from logirec.baselines.sum_of_neighbours import SumOfNeighbours
from logirec.baselines.tail import Products, solved
from logirec.data.graph import Links
from logirec.relation import Relation
from tests.baselines.worlds import World, ragged_of, random_links, random_orders

ITEMS = 14
BASKETS = [[0], [3, 5], [1, 2, 8], [13], [4, 6, 7, 9]]
BY_LINKS = ("popularity", "lookup", "row-cosine", "sum-of-neighbours", "rules", "ease", "ease-all", "item2vec")


def link_world(**more) -> World:
    return World(ITEMS, random_links(ITEMS, 60), **more)


def order_world(**more) -> World:
    return World(ITEMS, random_links(ITEMS, 20), orders=random_orders(ITEMS, 80), **more)


def rows_of(world, itself=False) -> np.ndarray:
    """Dense rows, and whether they are the items'."""
    orders = world.baskets()
    if orders is not None:
        table = np.zeros((len(orders), ITEMS))
        table[orders.owners, orders.values] = 1
        return table
    table = np.eye(ITEMS) * itself
    table[world.graph().links[0].source, world.graph().links[0].target] = 1
    return table


def basket_rows() -> np.ndarray:
    table = np.zeros((len(BASKETS), ITEMS))
    for at, basket in enumerate(BASKETS):
        table[at, basket] = 1
    return table


def scores(model, world, baskets=BASKETS) -> np.ndarray:
    return model.fit(world).scores(ragged_of(baskets)).numpy()


@pytest.mark.parametrize("name", BY_LINKS)
@pytest.mark.parametrize("made", ["leak_free", "baskets"])
def test_batches_order_and_repeats_do_not_matter(name, made, request):
    dataset = request.getfixturevalue(made)
    settings = {"epochs": 1} if name == "item2vec" else BASELINES[name].tried[0]
    model = BASELINES[name].make(settings, "cpu")
    if name == "ease-all" and made == "baskets":
        with pytest.raises(Unsuited, match="orders"):
            model.fit(dataset)
        return
    found = model.fit(dataset).scores(ragged_of([[5], [7, 3, 7], [1, 2, 9]]))
    assert found.shape == (3, dataset.items)
    assert not found.isnan().any()
    assert found.isfinite().any(dim=1).all()
    for at, basket in enumerate([[5, 5], [3, 7], [9, 1, 2, 1]]):
        torch.testing.assert_close(model.scores(ragged_of([basket]))[0], found[at], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("world", [link_world(), order_world()], ids=["links", "orders"])
def test_ease_is_the_closed_form(world):
    table = rows_of(world, itself=True)
    table = table / np.sqrt(table.sum(1, keepdims=True))
    inverse = np.linalg.inv(table.T @ table + 2 * np.eye(ITEMS))
    weights = np.eye(ITEMS) - inverse / np.diag(inverse)
    asked = basket_rows() @ table if world.baskets() is None else basket_rows()
    np.testing.assert_allclose(scores(Ease(regularization=2.0), world), asked @ weights, rtol=1e-4, atol=1e-5)


def test_ease_beside_learns_from_reversed_links_and_views():
    world = link_world(views=random_links(ITEMS, 20, seed=3))
    links, views = rows_of(world), np.zeros((ITEMS, ITEMS))
    views[world.graph().links[1].source, world.graph().links[1].target] = 1
    unit = [
        t / np.sqrt(t.sum(1, keepdims=True))
        for t in (links + np.eye(ITEMS), links.T + np.eye(ITEMS), views + np.eye(ITEMS))
    ]
    stacked = np.vstack([unit[0], 0.5 * unit[1], 0.5 * unit[2]])
    inverse = np.linalg.inv(stacked.T @ stacked + np.eye(ITEMS))
    expected = basket_rows() @ unit[0] @ (np.eye(ITEMS) - inverse / np.diag(inverse))
    for at, basket in enumerate(BASKETS):
        if len(basket) == 1:
            expected[at, views[basket[0]] > 0] = -np.inf  # known substitutes come last
    found = scores(Ease(regularization=1.0, beside=0.5), world)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_links_that_fade_count_less_the_weaker_they_are():
    """Of EASE, of row cosine, and both ways round."""
    world = link_world()
    links = world.graph().links[Relation.CO_PURCHASE]
    links = Links(links.source, links.target, np.random.default_rng(0).random(len(links)).astype(np.float32))
    world._links[Relation.CO_PURCHASE] = links
    faded = np.zeros((ITEMS, ITEMS))
    for at in range(len(links)):
        of_same = links.weight[links.source == links.source[at]]
        faded[links.source[at], links.target[at]] = 1 - 0.5 * np.mean(of_same > links.weight[at])
    np.testing.assert_allclose(co_purchases(world, fade=0.5).toarray(), faded, rtol=1e-6)
    np.testing.assert_allclose(co_purchases(world, reverse=True, fade=0.5).toarray(), faded.T, rtol=1e-6)
    assert len(np.unique(faded)) > 4

    def unit(table):
        lengths = np.linalg.norm(table, axis=1, keepdims=True)
        return table / np.where(lengths > 0, lengths, 1)

    itself = unit(faded + np.eye(ITEMS))
    inverse = np.linalg.inv(itself.T @ itself + np.eye(ITEMS))
    expected = basket_rows() @ itself @ (np.eye(ITEMS) - inverse / np.diag(inverse))
    np.testing.assert_allclose(scores(Ease(1.0, fade=0.5), world), expected, rtol=1e-4, atol=1e-5)
    expected = (basket_rows() @ unit(faded) @ unit(faded).T) ** 2 @ faded
    np.testing.assert_allclose(scores(RowCosine(2.0, fade=0.5), world), expected, rtol=1e-4, atol=1e-5)


def test_ease_takes_a_word_for_an_order_of_the_items_that_it_describes(monkeypatch):
    world, words = order_world(), np.random.default_rng(0).random((ITEMS, 4)).astype(np.float32)
    monkeypatch.setattr("logirec.baselines.ease.bags", lambda _: sparse.csr_array(words))
    orders = rows_of(world)
    stacked = np.vstack([orders / np.sqrt(orders.sum(1, keepdims=True)), 0.7 * words.T])
    inverse = np.linalg.inv(stacked.T @ stacked + np.eye(ITEMS))
    expected = basket_rows() @ (np.eye(ITEMS) - inverse / np.diag(inverse))
    np.testing.assert_allclose(scores(Ease(1.0, words=0.7), world), expected, rtol=1e-4, atol=1e-5)


def test_ease_takes_items_that_stand_near_each_other_for_an_order_of_their_own():
    world = order_world()
    orders = rows_of(world)
    stacked = np.vstack([orders / np.sqrt(orders.sum(1, keepdims=True)), 0.5 * near(world.lines(), ITEMS).toarray()])
    inverse = np.linalg.inv(stacked.T @ stacked + np.eye(ITEMS))
    expected = basket_rows() @ (np.eye(ITEMS) - inverse / np.diag(inverse))
    np.testing.assert_allclose(scores(Ease(1.0, near=0.5), world), expected, rtol=1e-4, atol=1e-5)
    world.lines = lambda: None  # the order of lines is not known
    np.testing.assert_array_equal(scores(Ease(1.0, near=0.5), world), scores(Ease(1.0), world))


@pytest.mark.parametrize("world", [link_world(), order_world()], ids=["links", "orders"])
def test_ease_of_a_large_catalogue_regresses_each_item_that_occurs_little_on_what_it_occurs_with(monkeypatch, world):
    monkeypatch.setattr("logirec.baselines.ease.HEAD", 5)
    monkeypatch.setattr("logirec.baselines.tail.BATCH", 2)
    table = rows_of(world, itself=True)
    unit = table / np.maximum(1, np.sqrt(table.sum(1, keepdims=True)))
    head = np.sort(np.argsort(-table.sum(0), kind="stable")[:5])
    products = unit.T @ unit
    inverse = np.linalg.inv(products[np.ix_(head, head)] + 3 * np.eye(5))
    tail = np.setdiff1d(np.arange(ITEMS), head)
    expected = np.zeros((ITEMS, ITEMS))
    expected[np.ix_(head, head)] = np.eye(5) - inverse / np.diag(inverse)
    for item in tail:
        near = np.flatnonzero((products[item] > 0) & (np.arange(ITEMS) != item))
        square = products[np.ix_(near, near)] + 3 * np.eye(len(near))
        expected[near, item] = np.linalg.solve(square, products[near, item])
    asked = basket_rows() @ unit if world.baskets() is None else basket_rows()
    found = scores(Ease(), world)
    np.testing.assert_allclose(found, asked @ expected, rtol=1e-4, atol=1e-6)
    assert (found[:, tail] > 0).any()
    model = Ease().fit(world)
    table = model.low.largest(sparse.csr_array(basket_rows().astype(np.float32)), ITEMS).toarray()
    np.testing.assert_allclose(table, found.clip(0) if world.baskets() is None else found, rtol=1e-4, atol=1e-6)


def test_the_tail_of_a_catalogue_is_predicted_from_its_nearest_items_and_no_long_rows(monkeypatch):
    monkeypatch.setattr("logirec.baselines.tail.LONGEST", 3)
    rows = np.zeros((6, 5), dtype=np.float32)
    for row, held in enumerate([(0, 1), (0, 1, 3), (1, 2, 3), (1, 3), (0, 3), (0, 1, 2, 3, 4)]):
        rows[row, list(held)] = 1
    head = np.array([0, 1, 2])
    products = rows[:, head].T @ rows[:, head]
    expected = np.zeros((2, 5))  # 4 stands in a long row alone
    expected[0, :2] = np.linalg.solve(products[:2, :2] + 2 * np.eye(2), [2, 3])  # of the short rows; 2 is third
    among = Products(sparse.csr_array(rows), head, products)
    nearest = strongest(among.others(), 2)
    np.testing.assert_allclose(solved(among, nearest, nearest, 2.0).toarray(), expected, rtol=1e-5)


@pytest.mark.parametrize("world", [link_world(), order_world()], ids=["links", "orders"])
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_row_cosine_weighs_rows_by_their_cosine(world, power):
    table = rows_of(world)
    unit = table / np.maximum(1, np.sqrt(table.sum(1, keepdims=True)))
    asked = basket_rows() @ unit if world.baskets() is None else basket_rows()
    expected = (asked @ unit.T) ** power @ table
    np.testing.assert_allclose(scores(RowCosine(power=power), world), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("measure", ["confidence", "lift"])
@pytest.mark.parametrize("world", [link_world(), order_world()], ids=["links", "orders"])
def test_rules_are_the_best_of_all_whose_left_side_is_in_the_basket(world, measure):
    table = rows_of(world, itself=True)
    counts = table.sum(0)
    expected = np.tile(counts / (1 + counts.max()) * 1e-9, (len(BASKETS), 1))
    for at, basket in enumerate(BASKETS):
        for size in (1, 2):
            for left in combinations(basket, size):
                holds = table[:, list(left)].all(1)
                for j in range(ITEMS):
                    together = (holds & (table[:, j] > 0)).sum()
                    if together >= 2:
                        value = together / (holds.sum() + 1) * (len(table) / counts[j] if measure == "lift" else 1)
                        expected[at, j] = max(expected[at, j], value)
    np.testing.assert_allclose(scores(Rules(measure=measure, support=2), world), expected, rtol=1e-5)


@pytest.mark.parametrize("world", [link_world(), order_world()], ids=["links", "orders"])
def test_neighbours_are_the_nearest_by_cosine_and_summed(world, monkeypatch):
    monkeypatch.setattr("logirec.baselines.sum_of_neighbours.STEP", 4)  # some items after the other
    table = rows_of(world, itself=True)
    counts = np.maximum(table.sum(0), 1)
    near = table.T @ table / np.sqrt(np.outer(counts, counts))
    np.fill_diagonal(near, 0)
    for row in near:
        row[np.argsort(-row, kind="stable")[4:]] = 0
    found = scores(SumOfNeighbours(neighbours=4), world)
    np.testing.assert_allclose(found, basket_rows() @ near, rtol=1e-5, atol=1e-6)


def test_lookup_counts_links_and_then_popularity():
    world = World(5, [(0, 1), (0, 2), (3, 2), (4, 2), (3, 1), (1, 4)])
    found = scores(Lookup(), world, [[0], [0, 3]])
    assert found[0].argsort()[::-1][:2].tolist() == [2, 1]  # both are linked; 2 is the more popular
    assert np.floor(found[1]).tolist() == [0, 2, 2, 0, 0]


def test_popularity_counts_orders_where_there_are_any():
    assert scores(Popularity(), World(4, [(0, 1)], orders=[[2, 3], [2]]), [[0]]).tolist() == [[0, 0, 2, 1]]
    assert scores(Popularity(), World(4, [(0, 1), (2, 1)]), [[0]]).tolist() == [[0, 2, 0, 0]]


def test_sets_that_run_backwards_are_learnt_from_reversed_links():
    links = [(2, 0), (2, 1), (0, 3), (1, 3)]
    forwards, backwards = (scores(Lookup(), World(5, links, backwards=b), [[0, 1], [0]]) for b in (False, True))
    assert forwards[0].argmax() == 3
    assert backwards[0].argmax() == 2
    assert forwards[1].argmax() == backwards[1].argmax() == 3


def test_what_is_in_the_basket_can_be_put_last():
    world = link_world()
    model = Rules().fit(world)
    found = members_last(model.scores)(ragged_of(BASKETS)).numpy()
    plain = model.scores(ragged_of(BASKETS)).numpy()
    for at, basket in enumerate(BASKETS):
        assert (found[at, basket] == -np.inf).all()
        others = np.setdiff1d(np.arange(ITEMS), basket)
        assert np.array_equal(found[at, others], plain[at, others])
    assert np.isfinite(plain).all()  # and the model's own table is as it was


def test_item2vec_says_when_there_is_nothing_to_learn_from():
    with pytest.raises(Unsuited, match="nothing to learn from"):
        Item2Vec().fit(World(4, views=[(0, 1)]))


def test_one_item_alone_has_its_views_last():
    found = scores(Lookup(), World(4, [(0, 1), (0, 2)], views=[(0, 2)]), [[0], [0, 3]])
    assert found[0, 2] == -np.inf
    assert found[1, 2] > 0


@pytest.mark.parametrize("orders", [False, True])
def test_item2vec_finds_planted_groups(orders):
    groups = [range(6), range(6, 12)]
    pairs = [(a, b) for group in groups for a in group for b in group if a != b]
    world = World(12, pairs, orders=[list(pair) for pair in pairs] if orders else None)
    found = scores(Item2Vec(dims=8, epochs=4000), world, [[0], [7, 8]])
    assert found[0, :6][1:].min() > found[0, 6:].max()
    assert found[1, 6:].min() > found[1, :6].max()


def test_item2vec_keeps_direction_and_its_seed():
    world = World(8, [(a, b) for a in range(4) for b in range(4, 8)])
    found = scores(Item2Vec(dims=4, epochs=20_000, flatness=0.0), world, [[0], [4]])
    assert found[0, 4:].min() > found[0, :4].max()
    assert np.array_equal(found, scores(Item2Vec(dims=4, epochs=20_000, flatness=0.0), world, [[0], [4]]))
    assert not np.array_equal(found, scores(Item2Vec(dims=4, epochs=20_000, flatness=0.0, seed=1), world, [[0], [4]]))


@pytest.mark.parametrize("name", BASELINES)
def test_every_entry_can_be_made_with_each_of_its_settings(name):
    entry = BASELINES[name]
    assert 1 <= len(entry.tried) <= 6  # the same small budget for all
    for settings in entry.tried:
        assert hasattr(entry.make(settings, "cpu"), "fit")
