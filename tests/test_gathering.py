"""Evidence: where it comes from, what its weights are fitted to, and that it is only kept where it helps."""

import numpy as np
import pytest
import torch
from scipy import sparse

from logirec import gathering
from logirec.baselines.ease import Ease
from logirec.config import recipe
from logirec.data.query_sets import KINDS
from logirec.evaluation.evaluate import mean_mrr, questions
from logirec.gathering import _counted, _fitted, _log_sum, _Places, _Scored, _tables, _Weighing, gathered
from logirec.index.scorer import Scorer
from logirec.model.logirec import LogiRec
from logirec.relation import Relation
from tests.baselines.worlds import ragged_of


def model_of(dataset) -> LogiRec:
    """One that has learnt nothing."""
    config = recipe("default", "hybrid", 0, {"model": {"dims": 4, "width": 8, "context": False}}).model
    return LogiRec(dataset.items, config, 0).eval()


def valid(dataset, most=200):
    return {kind: questions(dataset, "valid", kind, most) for kind in KINDS}


@pytest.mark.parametrize("name", ["leak_free", "baskets"])
def test_it_makes_a_model_that_knows_nothing_rank_well(request, name):
    dataset = request.getfixturevalue(name)
    model, asked = model_of(dataset), valid(dataset)
    alone = {kind: mean_mrr(Scorer(model).scores, asked[kind], dataset.items) for kind in KINDS}
    model.evidence, chosen = gathered(model, dataset, asked)
    test = {kind: questions(dataset, "test", kind, 200) for kind in KINDS}
    for kind in KINDS:
        assert chosen[kind].form != "none"
        assert chosen[kind].alone == pytest.approx(alone[kind])
        assert mean_mrr(Scorer(model).scores, test[kind], dataset.items) > 3 * alone[kind]


def test_it_is_the_same_every_time(leak_free):
    first, second = (gathered(model_of(leak_free), leak_free, valid(leak_free, 50))[0] for _ in range(2))
    for name, tensor in first.tensors().items():
        assert torch.equal(tensor, second.tensors()[name])


def test_tables_know_the_training_links_alone(leak_free):
    held_out = {
        (one, other)
        for stage in ("valid", "test")
        for one, other in zip(*leak_free.graph(stage).links[Relation.CO_PURCHASE][:2], strict=True)
    } - set(zip(*leak_free.graph().links[Relation.CO_PURCHASE][:2], strict=True))
    assert held_out
    linked, reverse, viewed = (table.toarray() for table in _tables(leak_free, {}, "cpu")["low"][-3:])
    assert not any(linked[pair] or reverse[pair[::-1]] for pair in held_out)
    assert np.array_equal(linked, reverse.T)
    assert np.array_equal(viewed, viewed.T)


def test_two_steps_lead_past_what_is_viewed_and_past_shared_neighbours(leak_free):
    _, _, past_views, shared, _, _, bought, sold, viewed = (t.toarray() for t in _tables(leak_free, {}, "cpu")["low"])
    linked = np.maximum(bought, sold)
    for found, expected in (
        (past_views, viewed / np.maximum(viewed.sum(1, keepdims=True), 1) @ bought),
        (shared, linked @ (linked / np.maximum(linked.sum(1, keepdims=True), 1))),
    ):
        np.fill_diagonal(expected, 0)
        best = expected.max(1)
        np.testing.assert_allclose(found, expected / np.median(best[best > 0]), rtol=1e-5, atol=1e-6)


def test_where_sets_run_backwards_they_have_tables_of_their_own(leak_free, monkeypatch):
    monkeypatch.setattr(type(leak_free), "sets_run_backwards", True)
    tables = _tables(leak_free, {}, "cpu")
    assert np.array_equal(tables["low"][-3].toarray(), tables["high"][-2].toarray())
    assert not np.array_equal(tables["low"][0].toarray(), tables["high"][0].toarray())


def test_orders_are_trusted_as_far_as_validation_says(baskets, monkeypatch):
    asked, tried = valid(baskets), {}
    for strength in (0.3, 300.0):
        fitted = Ease(strength).fit(baskets)
        tried[strength] = np.prod([mean_mrr(fitted.scores, asked[kind], baskets.items) for kind in KINDS])
    monkeypatch.setattr(gathering, "STRENGTHS", tuple(tried))
    assert gathering._regression(baskets, asked, "cpu").regularization == max(tried, key=tried.get)


def test_what_speaks_against_a_pair_counts_in_orders_alone(leak_free, baskets):
    assert (_tables(leak_free, {}, "cpu")["low"][0].data >= 0).all()
    regression = _tables(baskets, {}, "cpu")["low"][0]
    assert (regression.data < 0).any()
    whole = Ease(gathering.STRENGTHS[0]).fit(baskets).low.weights.numpy()
    kept = regression.toarray()
    assert np.array_equal(np.sign(kept)[kept != 0], np.sign(whole)[kept != 0])
    for row, sizes in zip(kept, np.abs(whole), strict=True):
        assert sizes[row != 0].min(initial=np.inf) >= sizes[row == 0].max(initial=0)
    assert all(np.isfinite(curve(np.array([-3.0, 0.0, 2.0]))).all() for curve in gathering._LOGARITHMS)


def test_raw_ranking_puts_what_is_known_last(leak_free):
    """It leaves the known answers in, where they stand in the way of the new ones."""
    first = {}
    for ranking in ("filtered", "raw"):
        model, asked = model_of(leak_free), valid(leak_free)
        if ranking == "raw":
            asked = {kind: queries.raw() for kind, queries in asked.items()}
        model.evidence, _ = gathered(model, leak_free, asked)
        queries = leak_free.queries("valid", "low")  # what is known there is what training has seen
        best = Scorer(model).scores(queries.members).argmax(1).tolist()
        first[ranking] = sum(row in queries.known.list(at) for at, row in enumerate(best))
    assert first["filtered"] > 0.5 * len(best)
    assert first["raw"] < 0.1 * len(best)


def test_places_hold_every_table(leak_free):
    tables = _tables(leak_free, {}, "cpu")["low"]
    place = _Places(tables)
    assert (np.diff(place.keys) > 0).all()
    for table in tables:
        made = sparse.csr_array((place.values(table), place.targets, place.starts), table.shape)
        np.testing.assert_allclose(made.toarray(), table.toarray(), rtol=1e-6)
    baskets = ragged_of([[3], [5, 9, 12], [5, 5]])
    columns = [place.values(table) for table in tables[:2]]
    owners, rows, sums = place.sums(baskets, columns)
    for at, members in enumerate(([3], [5, 9, 12], [5])):
        for column, table in enumerate(tables[:2]):
            expected = table.toarray()[members].sum(0)
            found = np.zeros(leak_free.items)
            found[rows[owners == at]] = sums[owners == at, column]
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_weights_find_what_tells_answers_from_others():
    draws = torch.Generator().manual_seed(0)
    queries, each = 60, 8
    owners = torch.arange(queries).repeat_interleave(each)
    answer = torch.arange(queries * each) % each == 0
    telling = answer.float() + 0.3 * torch.randn(len(owners), generator=draws)
    nothing = torch.randn(len(owners), generator=draws)
    seen = _Scored(owners, torch.randn(len(owners), generator=draws), torch.stack([telling, nothing], dim=1))
    rest = _counted(torch.randn(queries, 20, generator=draws))
    for model in (True, False):
        weights = _fitted(seen, rest, seen.where(answer), torch.ones(queries, dtype=torch.int64), model)
        assert weights[0] > 1
        assert abs(weights[1]) < 0.2 * weights[0]


def test_what_is_counted_together_weighs_what_it_weighs_one_by_one():
    draws = torch.Generator().manual_seed(0)
    scores = 5 * torch.randn(4, 3000, generator=draws)
    scores[1] = 2.5
    scores[2, 1:] = gathering.FAR
    scores[3] = gathering.FAR
    rest, nobody = _counted(scores), torch.empty(0, dtype=torch.int64)
    for scale in (0.05, 0.3, 1.0, 3.0):
        found = _log_sum(scale * rest.own + rest.many, torch.empty(0), nobody)
        assert torch.allclose(found[:3], (scale * scores[:3]).logsumexp(1), atol=3e-3)
        assert found[3] < 0.9 * gathering.FAR


def test_evidence_that_says_nothing_is_not_kept(leak_free):
    place = _Places(_tables(leak_free, {}, "cpu")["low"])
    weighing = _Weighing(model_of(leak_free), valid(leak_free, 40)["low"], place)
    choice, amounts = weighing.best([np.zeros(len(place.targets), np.float32)], [])
    assert choice.form == "none"
    assert choice.valid_mrr == choice.alone
    assert not amounts.any()


def test_a_search_that_goes_astray_says_nothing(monkeypatch):
    one = torch.zeros(1, dtype=torch.int64)
    seen = _Scored(one, torch.tensor([1.0]), torch.tensor([[torch.nan]]))
    monkeypatch.setattr(gathering, "STEPS", 2)
    assert _fitted(seen, _counted(torch.zeros(1, 3)), seen, one, True).tolist() == [0.0]


def test_opinions_are_the_mean_of_what_models_think(leak_free):
    models = [model_of(leak_free), LogiRec(leak_free.items, model_of(leak_free).config, 1).eval()]
    found = gathering._opinions(models).toarray()
    rows = ragged_of([[row] for row in range(leak_free.items)])
    logs = torch.stack([Scorer(model).scores(rows).log_softmax(1) for model in models]).mean(0)
    logs.fill_diagonal_(-torch.inf)
    expected = logs.softmax(1).numpy()
    scale = np.median(expected.max(1))
    assert np.allclose(np.where(found, expected / scale, 0), found, rtol=1e-4)
    assert ((found > 0).sum(1) == min(gathering.MOST, leak_free.items - 1)).all()
    assert np.allclose(found.max(1), expected.max(1) / scale, rtol=1e-4)
