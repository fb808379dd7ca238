"""New items: what they are like, and what that makes of them."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import sparse

from logirec.data.graph import ItemGraph, Links
from logirec.data.query_sets import KINDS
from logirec.data.words import bags
from logirec.evaluation.evaluate import mean_mrr, questions
from logirec.evidence.gathering import gathered
from logirec.evidence.lookalikes import lookalikes, of_unseen, spread_to, take_places
from logirec.index.scorer import Scorer
from logirec.model.logirec import settle
from logirec.relation import Relation
from tests.evidence.test_gathering import model_of, valid
from tests.model.worlds import small_model


def linked(pairs):
    ends = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return Links(ends[:, 0], ends[:, 1], np.ones(len(ends), dtype=np.float32))


def described(titles, brands=None, categories=None, views=(), histories=None):
    """Items 0 to 3 are bought together; whatever follows is new. `histories`: (customer, item)."""
    count, bought = len(titles), linked([(0, 1), (1, 2), (2, 3)])
    graph = ItemGraph(count, {Relation.CO_PURCHASE: bought, Relation.CO_VIEW: linked(views)})
    texts = {"title": titles, "brand": brands or [None] * count, "category": categories or [None] * count}
    users = None
    if histories is not None:
        users = dict(zip(("user", "item"), np.array(histories, dtype=np.int32).reshape(-1, 2).T, strict=True))
    return SimpleNamespace(
        items=count, descriptions=texts, graph=lambda: graph, baskets=lambda: None, interactions=lambda: users
    )


def test_a_new_item_is_most_of_all_what_has_its_rare_words():
    titles = ["red tea", "green tea", "red pen", "steel pen", "Steel PEN!", "tea", "unheard of", None]
    found = lookalikes(described(titles)).toarray()
    assert not found[:4].any()  # these are known
    assert found[4].argmax() == 3
    assert found[4].sum() == pytest.approx(1)
    assert found[5, 0] > found[5, 1] > 0 == found[5, 2]  # green is rarer than red
    assert not found[6:].any()
    assert not found[:, 4:].any()  # nothing is like what is not known itself


def test_a_word_that_describes_every_item_is_not_kept_as_nothing():
    bag = bags(described(["red tea", "green tea", "tea"]))
    assert (bag.data != 0).all()
    assert bag.nnz == 2


def test_words_of_very_many_items_are_not_looked_up(monkeypatch):
    titles = ["red tea", "green tea", "tea", "pen", "red tea"]
    assert lookalikes(described(titles)).toarray()[4].astype(bool).tolist() == [True, True, True, False, False]
    monkeypatch.setattr("logirec.evidence.lookalikes.COMMON", 2)
    assert lookalikes(described(titles)).toarray()[4].astype(bool).tolist() == [True, False, False, False, False]


def test_brands_and_categories_are_no_words_of_titles():
    titles, brands = ["7", "x", "y", "z", "new"], [None, "7", "7", "8", "7"]
    assert (lookalikes(described(titles, brands)).toarray()[4] > 0).tolist() == [False, True, True, False, False]
    paths = ["food > tea", "food > jam", "tea", "pens", "food > tea"]
    found = lookalikes(described(["tea", "a", "b", "c", "new"], categories=paths)).toarray()[4]
    assert found.argsort()[::-1][:2].tolist() in ([0, 2], [2, 0], [0, 1])
    assert found[3] == 0


def test_what_the_same_customers_chose_is_alike_whatever_it_is_called():
    titles = ["red tea", "green tea", "red pen", "steel pen", "new", "red thing", "unheard of"]
    chosen = [(0, 3), (1, 3), (2, 2), (0, 4), (1, 4), (1, 4), (3, 6), (0, 5)]
    found = lookalikes(described(titles, histories=chosen)).toarray()
    assert found[4].nonzero()[0].tolist() == [3]
    assert (found[5] > 0).tolist() == [True, False, True, True, False, False, False]  # by "red", and by a customer
    assert not found[6].any()  # nobody else chose what its customer chose
    once = lookalikes(described(titles, histories=list(dict.fromkeys(chosen)))).toarray()
    assert np.array_equal(found, once)  # however often
    without = lookalikes(described(titles)).toarray()
    assert np.array_equal(without, lookalikes(described(titles, histories=[])).toarray())
    assert not without[4].any()


def test_of_what_is_viewed_and_never_bought_its_views_speak():
    """Whichever side of a view it is on; nothing is said of it that lookalikes would say."""
    dataset = described(["red tea", "green tea", "red pen", *["steel pen"] * 4], views=[(4, 0), (1, 5)])
    alike = lookalikes(dataset)
    found = of_unseen(alike, dataset)
    assert np.diff(alike.indptr).nonzero()[0].tolist() == [4, 5, 6]
    assert np.diff(found.indptr).nonzero()[0].tolist() == [6]
    assert np.array_equal(found[[6]].toarray(), alike[[6]].toarray())


def test_what_is_in_orders_is_not_new(baskets):
    assert lookalikes(baskets).nnz == 0


def test_it_takes_the_place_of_what_it_is_like():
    model = settle(small_model("default").float())
    alike = sparse.csr_array(([1.0, 0.25, 0.75], ([7, 9, 9], [3, 1, 2])), (model.items, model.items), dtype=np.float32)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    take_places(model, alike)
    for name, tensor in model.state_dict().items():
        old, new = before[name], tensor
        if name == "bias":
            old, new = old.T, new.T
        if name in ("raw_items", "anchors", "bias"):
            torch.testing.assert_close(new[7], old[3])
            torch.testing.assert_close(new[9], 0.25 * old[1] + 0.75 * old[2])
            old, new = (np.delete(table.numpy(), [7, 9], axis=0) for table in (old, new))
            assert np.array_equal(old, new)
        else:
            assert torch.equal(old, new)


def test_pairs_are_spread_to_both_sides(monkeypatch):
    monkeypatch.setattr("logirec.evidence.lookalikes.TILE", 1)  # in more than one step
    monkeypatch.setattr("logirec.evidence.lookalikes.ROWS", 4)
    draws = np.random.default_rng(0)
    table, alike = np.zeros((6, 6)), np.zeros((6, 6))
    table[:4, :4], alike[4:, :4] = draws.random((4, 4)), draws.random((2, 4))
    asked = alike @ table
    for most in (6, 2):
        found = spread_to(sparse.csr_array(table), sparse.csr_array(alike), most)
        for one, expected in zip(found, (asked, (table + asked) @ alike.T), strict=True):
            least = np.sort(expected, axis=1)[:, -most, None]
            assert np.allclose(one.toarray(), np.where(expected >= least, expected, 0))


def test_evidence_of_lookalikes_finds_new_items(cold_items):
    alike, asked = lookalikes(cold_items), valid(cold_items)
    assert alike.nnz
    test = {kind: questions(cold_items, "test", kind, 200) for kind in KINDS}
    ranked = []
    for known in (None, alike):
        model = model_of(cold_items)
        model.evidence, chosen, *_ = gathered(model, cold_items, asked, known)
        ranked.append({kind: mean_mrr(Scorer(model).scores, test[kind], cold_items.items) for kind in KINDS})
    for kind in KINDS:
        assert chosen[kind].form.endswith("new items too")
        assert ranked[1][kind] > 1.2 * ranked[0][kind], ranked  # words have found some by themselves
