"""The baselines that learn from users: against plain references, in planted worlds, and what all of them share."""

import sys
from functools import partial

import numpy as np
import pytest
import torch

from logirec.baselines.base import ItemVectors, NeedsInteractions, Unsuited, members, user_items
from logirec.baselines.cf import CF
from logirec.baselines.knowledge_aware import KnowledgeAware
from logirec.baselines.lightgcn import LightGCN, normalised, propagate
from logirec.baselines.mf import MF
from logirec.data.query_sets import Ragged, rectangle

ITEMS = 12  # two groups of five, an item of both and one that nobody has


class Users:
    """As much of a dataset as these models read."""

    def __init__(self, items, user=None, item=None, rating=None, time=None):
        self.items = items
        self.found = None
        if user is not None:
            missing = np.full(len(user), np.nan)
            self.found = {
                "user": np.asarray(user, np.int32),
                "item": np.asarray(item, np.int32),
                "rating": missing.astype(np.float32) if rating is None else np.asarray(rating, np.float32),
                "time": missing if time is None else np.asarray(time, np.int64),
            }

    def interactions(self):
        return self.found


def two_groups(users=200, seed=0):
    """Even users buy four of items 0-4, odd ones of 5-9; every seventh has item 10 too; 11 is nobody's."""
    random = np.random.default_rng(seed)
    pairs = []
    for user in range(users):
        bought = random.permutation(5)[:4] + 5 * (user % 2)
        pairs += [(user, item) for item in bought] + [(user, 10)] * (user % 7 == 0)
    return Users(ITEMS, *np.array(pairs).T)


MODELS = {
    "cf": CF,
    "cf cosine": partial(CF, measure="cosine"),
    "als": partial(MF, factors=2),
    "bpr": partial(MF, method="bpr", factors=8, iterations=100),
    "lightgcn": partial(LightGCN, dims=16, epochs=20, batch=64),
    "knowledge-aware": partial(KnowledgeAware, dims=16, epochs=20, batch=64, learning_rate=0.01),
}


@pytest.fixture(scope="module")
def world():
    return two_groups()


@pytest.fixture(scope="module")
def fitted(world):
    pytest.importorskip("implicit", reason="MF is implicit's; pip install 'logirec[baselines]'")
    return {name: make().fit(world) for name, make in MODELS.items()}


each_model = pytest.mark.parametrize("name", MODELS)


def table_of(model, items):
    """(N, N): the scores of every item alone."""
    return model.scores(rectangle(np.arange(items)[:, None])).numpy()


def baskets_of(*lists):
    return Ragged(np.cumsum([0, *map(len, lists)], dtype=np.int32), np.concatenate(lists).astype(np.int32))


# What all of them share --------------------------------------------------------------------------------------------


@each_model
def test_a_set_scores_the_sum_of_its_members(fitted, name):
    table = table_of(fitted[name], ITEMS)
    found = fitted[name].scores(baskets_of([1, 6, 10], [2], [])).numpy()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[0], table[[1, 6, 10]].sum(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], table[2], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found[2], np.zeros(ITEMS))


@each_model
def test_repeats_and_order_do_not_matter(fitted, name):
    baskets = baskets_of([1, 6, 10], [10, 6, 1, 6, 6], [6, 10, 10, 1])
    before = baskets.values.copy()
    found = fitted[name].scores(baskets)
    assert (found == found[0]).all()
    np.testing.assert_array_equal(baskets.values, before)  # asking does not sort the question


@each_model
def test_only_knowledge_aware_has_a_direction(fitted, name):
    model, table = fitted[name], table_of(fitted[name], ITEMS)
    symmetric = np.allclose(table, table.T, rtol=1e-4, atol=1e-5)
    assert model.pairwise is symmetric is (name != "knowledge-aware")


@each_model
def test_items_of_the_same_group_come_first(fitted, name):
    table = table_of(fitted[name], ITEMS)
    np.fill_diagonal(table, np.nan)
    first, second = slice(0, 5), slice(5, 10)
    for own, other in ((first, second), (second, first)):
        assert (np.nanmin(table[own, own], axis=1) > table[own, other].max(axis=1)).all()


@each_model
def test_same_seed_same_scores(fitted, world, name):
    np.testing.assert_array_equal(table_of(MODELS[name]().fit(world), ITEMS), table_of(fitted[name], ITEMS))


@pytest.mark.parametrize("name", ["als", "bpr", "lightgcn", "knowledge-aware"])
def test_another_seed_other_scores(fitted, world, name):
    assert (table_of(MODELS[name](seed=1).fit(world), ITEMS) != table_of(fitted[name], ITEMS)).any()


@each_model
@pytest.mark.parametrize("dataset", [Users(3), Users(3, [], [])], ids=["none", "empty"])
def test_without_interactions(name, dataset):
    with pytest.raises(NeedsInteractions, match="--interactions") as error:
        MODELS[name]().fit(dataset)
    assert "\n" not in str(error.value)


def test_members_are_distinct():
    found = members(baskets_of([3, 1, 3], [], [0]), 4).toarray()
    np.testing.assert_array_equal(found, [[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]])


def test_a_user_counts_an_item_once():
    found = user_items(Users(3, [0, 0, 1], [2, 2, 0])).toarray()
    np.testing.assert_array_equal(found, [[0, 0, 1], [1, 0, 0]])


# CF ----------------------------------------------------------------------------------------------------------------


def dense(world):
    table = np.zeros((world.found["user"].max() + 1, world.items))
    table[world.found["user"], world.found["item"]] = 1
    return table


def test_cf_is_the_product_of_user_vectors(fitted, world):
    vectors = dense(world).T
    np.testing.assert_array_equal(table_of(fitted["cf"], ITEMS), vectors @ vectors.T)


def test_cf_cosine(fitted, world):
    vectors = dense(world).T
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)  # nobody has item 11
    np.testing.assert_allclose(table_of(fitted["cf cosine"], ITEMS), vectors @ vectors.T, atol=1e-6)


# MF ----------------------------------------------------------------------------------------------------------------


def plain_als(table, factors, iterations, regularization, alpha, seed):
    """Hu et al. (2008) as written: confidence alpha where there is an interaction, 1 where there is none."""
    random = np.random.default_rng(seed)
    sides = [random.random((n, factors), dtype=np.float32).astype(np.float64) * 0.01 for n in table.shape]
    for _ in range(iterations):
        for side, wanted in ((0, table), (1, table.T)):
            other = sides[1 - side]
            for row, bought in enumerate(wanted):
                weighted = other.T * np.where(bought > 0, alpha, 1.0)
                normal = weighted @ other + regularization * np.eye(factors)
                sides[side][row] = np.linalg.solve(normal, weighted @ bought)
    return sides[1]


@pytest.mark.parametrize("alpha", [1.0, 8.0])
def test_als_agrees_with_a_plain_one(alpha):
    pytest.importorskip("implicit", reason="pip install 'logirec[baselines]'")
    world = two_groups(users=30)
    settings = {"factors": 4, "iterations": 200, "regularization": 0.5, "alpha": alpha, "seed": 3}
    items = plain_als(dense(world), **settings)
    np.testing.assert_allclose(table_of(MF(**settings).fit(world), ITEMS), items @ items.T, rtol=1e-3, atol=1e-3)


def test_als_without_weights_is_a_shrunk_svd():
    """With alpha 1 the optimum is known: the item products are those of the SVD, each singular value less by lambda."""
    pytest.importorskip("implicit", reason="pip install 'logirec[baselines]'")
    world = two_groups(users=30)
    _, values, items = np.linalg.svd(dense(world), full_matrices=False)
    expected = items[:2].T @ np.diag(values[:2] - 0.5) @ items[:2]  # two groups: two values well above the others
    found = MF(factors=2, iterations=200, regularization=0.5, alpha=1.0).fit(world)
    np.testing.assert_allclose(table_of(found, ITEMS), expected, atol=1e-3)


def test_bpr_leaves_the_bias_out(fitted):
    assert fitted["bpr"].vectors.shape == (ITEMS, 8)


def test_mf_names_the_extra(world, monkeypatch):
    monkeypatch.setitem(sys.modules, "implicit", None)
    for name in [name for name in sys.modules if name.startswith("implicit.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(Unsuited, match=r"pip install 'logirec\[baselines\]'"):
        MF().fit(world)


# LightGCN ----------------------------------------------------------------------------------------------------------


def test_propagation_equals_a_dense_one(world):
    table = dense(world)
    users, nodes = len(table), sum(table.shape)
    graph = np.zeros((nodes, nodes))
    graph[:users, users:], graph[users:, :users] = table, table.T
    root = np.sqrt(np.maximum(graph.sum(0), 1))
    graph = graph / root / root[:, None]
    start = np.random.default_rng(0).normal(size=(nodes, 6)).astype(np.float32)
    expected = np.mean([np.linalg.matrix_power(graph, power) @ start for power in range(4)], axis=0)
    found = propagate(normalised(user_items(world)), torch.from_numpy(start), layers=3)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def test_propagation_equals_that_of_pyg(world):
    models = pytest.importorskip("torch_geometric.nn.models", reason="the comparison needs torch-geometric")
    table = user_items(world)
    users, nodes = table.shape[0], sum(table.shape)
    user, item = (torch.from_numpy(a.astype(np.int64)) for a in table.nonzero())
    edges = torch.stack([torch.cat([user, users + item]), torch.cat([users + item, user])])
    theirs = models.LightGCN(nodes, embedding_dim=6, num_layers=2)
    start = theirs.embedding.weight.detach()
    found = propagate(normalised(table), start, layers=2)
    torch.testing.assert_close(found, theirs.get_embedding(edges).detach())


def test_gradient_of_propagation_is_propagation(world):
    """What `fit` takes for granted instead of going back through the layers."""
    graph = normalised(user_items(world))
    start = torch.randn(graph.shape[0], 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    final = propagate(graph, start, layers=3)
    (back,) = torch.autograd.grad(final.square().sum() / 2, start)
    torch.testing.assert_close(back, propagate(graph, final.detach(), layers=3))


def test_an_item_is_the_mean_of_its_users():
    """Two items with the same users are the same; one that nobody has scores nothing."""
    world = Users(4, [0, 0, 1, 1, 1], [0, 1, 0, 1, 2])
    vectors = LightGCN(dims=8, epochs=3).fit(world).vectors
    torch.testing.assert_close(vectors[0], vectors[1])
    assert (vectors[3] == 0).all()
    assert (vectors[2] != vectors[0]).any()


# Knowledge-aware ---------------------------------------------------------------------------------------------------


def heads_and_accessories(**columns):
    """Forty users each buy one of four heads, then its accessory: head 2h, accessory 2h + 1."""
    user = np.repeat(np.arange(40), 2)
    return Users(8, user, user % 4 * 2 + np.tile([0, 1], 40), **columns)


def is_directed(dataset):
    table = table_of(KnowledgeAware(dims=16, epochs=20, batch=16, learning_rate=0.03).fit(dataset), 8)
    head = np.arange(0, 8, 2)
    assert (table[head, head + 1] > table[head + 1, head]).all()
    assert (table[head].argmax(1) == head + 1).all()


def test_what_comes_next_is_learnt_in_one_direction():
    is_directed(heads_and_accessories())


def test_many_purchases_make_larger_batches_not_more_steps(monkeypatch):
    steps, step = [], torch.optim.Adam.step
    monkeypatch.setattr(torch.optim.Adam, "step", lambda self, *a: steps.append(1) or step(self, *a))
    monkeypatch.setattr("logirec.baselines.knowledge_aware.MOST_STEPS", 3)
    KnowledgeAware(dims=4, epochs=5, batch=2).fit(heads_and_accessories())
    assert len(steps) == 5 * 3


def test_times_say_the_order():
    """Stored the other way round, with times that put it right."""
    world = heads_and_accessories(time=np.tile([10, 20], 40))
    world.found = {name: column[::-1] for name, column in world.found.items()}
    is_directed(world)


def test_ratings_weigh_the_context():
    """Same purchases, other ratings of them: other scores; the same ratio of ratings: the same scores."""
    user, item = np.repeat(np.arange(20), 3), np.tile([0, 1, 2, 3, 1, 2], 10)

    def scores(rating):
        world = Users(4, user, item, rating=rating)
        return table_of(KnowledgeAware(dims=4, epochs=20, learning_rate=0.03).fit(world), 4)

    plain = scores(None)
    np.testing.assert_allclose(scores(np.full(60, 5)), plain, atol=1e-5)
    assert np.abs(scores(np.tile([5, 1, 1, 1, 5, 5], 10)) - plain).max() > 1e-3
    assert np.isfinite(scores(np.zeros(60))).all()


def test_an_item_that_nobody_bought(fitted):
    table = table_of(fitted["knowledge-aware"], ITEMS)
    assert (table[11] == 0).all()  # it says nothing, rather than noise
    assert (table[:5, 11] < table[:5, :5].max(1)).all()


def test_a_single_pair_is_enough():
    table = table_of(KnowledgeAware(dims=8, epochs=20).fit(Users(3, [0, 0], [0, 1])), 3)
    assert table[0].argmax() == 1
    assert (table[1:] == 0).all()


@pytest.mark.parametrize(("user", "item"), [([0, 1, 2], [0, 1, 2]), ([0, 0, 0], [1, 1, 1])])
def test_no_pair_at_all(user, item):
    with pytest.raises(Unsuited, match="no order to learn from") as error:
        KnowledgeAware().fit(Users(3, user, item))
    assert "\n" not in str(error.value)


def test_models_of_item_vectors():
    assert all(issubclass(kind, ItemVectors) for kind in (MF, LightGCN))
