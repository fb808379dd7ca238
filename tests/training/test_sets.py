import numpy as np

from logirec.data.graph import ItemGraph, Links
from logirec.relation import Relation
from logirec.training.sets import SIZE_SHARES, drawn_sets


def test_baskets_have_exactly_the_answers_that_every_member_links_to(leak_free):
    graph = leak_free.graph()
    links = graph.links[Relation.CO_PURCHASE]
    targets = {s: set(links.target[links.source == s].tolist()) for s in range(leak_free.items)}
    sets = drawn_sets(graph, 2000, seed=1)
    assert set(np.unique(sets.members.lengths)) == set(SIZE_SHARES)
    for q in range(len(sets)):
        members = sets.members.list(q).tolist()
        assert members == sorted(set(members))
        common = set.intersection(*(targets[m] for m in members))
        assert common
        assert set(sets.answers.list(q).tolist()) == common
        assert not common & set(members)


def test_the_same_seed_draws_the_same_and_no_basket_comes_twice(leak_free):
    one, two, other = (drawn_sets(leak_free.graph(), 500, seed) for seed in (1, 1, 2))
    assert np.array_equal(one.members.values, two.members.values)
    assert not np.array_equal(one.members.values, other.members.values)
    baskets = [tuple(one.members.list(q).tolist()) for q in range(len(one))]
    assert len(baskets) == len(set(baskets))


def test_links_that_share_no_target_give_no_basket():
    links = Links(np.array([0, 1], np.int32), np.array([2, 3], np.int32), np.ones(2, np.float32))
    none = Links(*(column[:0] for column in links))
    graph = ItemGraph(4, {Relation.CO_PURCHASE: links, Relation.CO_VIEW: none})
    assert len(drawn_sets(graph, 100, seed=0)) == 0
