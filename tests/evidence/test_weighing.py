"""Weights of evidence: what they are fitted to, and that the fit does what it says."""

from itertools import product

import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime
from scipy.special import logsumexp

from logirec.data.graph import matrix
from logirec.evaluation.evaluate import Questions, mean_mrr
from logirec.evidence import fitting, weighing
from logirec.evidence.fitting import FAR, Belief, Entries, counted, fitted
from logirec.evidence.places import CURVES, Places, amounts
from logirec.evidence.weighing import FORMS, Standing, Weighing
from logirec.index.scorer import Scorer
from logirec.model.evidence import Evidence
from logirec.relation import Relation
from tests.baselines.worlds import ragged_of
from tests.evidence.test_gathering import model_of, tables_in, valid

UNKNOWN = Belief.small(2)


def made(queries=60, each=8, seed=0) -> Entries:
    """The first entry of each query is an answer, which the first feature tells and the second does not."""
    draws = np.random.default_rng(seed)
    answer = np.arange(queries * each) % each == 0
    telling = answer + 0.3 * draws.standard_normal(len(answer))
    features = np.stack([telling, draws.standard_normal(len(answer))], axis=1).astype(np.float32)
    own = draws.standard_normal(len(answer)).astype(np.float32)
    rest = counted(draws.standard_normal((queries, 20)).astype(np.float32))
    counts = 1 + np.arange(queries, dtype=np.float32) % 5
    return Entries(counts, np.full(queries, each), np.arange(queries) % 3, *rest, own, answer, features)


@pytest.mark.parametrize("model", [True, False])
def test_weights_find_what_tells_answers_from_others(model):
    weights, scale = fitted(made(), model, UNKNOWN)
    assert weights[0] / scale > 1
    assert abs(weights[1]) < 0.2 * weights[0]
    assert scale == fitting.LEAST_SCALE or model


def test_few_queries_change_little_of_what_is_usual():
    """And many say what they have to say."""
    usual = np.array([-3.0, 4.0])
    few, many = (fitted(made(queries), True, Belief.usual(usual))[0] for queries in (3, 3000))
    alone = fitted(made(3000), True, UNKNOWN)[0]
    assert np.abs(few - usual).max() < 2
    assert np.abs(many - alone).max() < 0.4 * np.abs(usual - alone).max()


def test_queries_for_the_same_few_new_items_say_little_of_new_items(leak_free):
    """A thousand sets may have one new item for an answer: what its weights are fitted to is one item."""
    asked = valid(leak_free, 60)["high"]
    place = Places(list(tables_in(leak_free)["high"].values())[:1])
    form, usual = FORMS["sums and logarithms"], np.ones((2, len(CURVES)))
    weighing_, every = Weighing(model_of(leak_free), asked, place), np.arange(60)
    known, belief = weighing_._belief(form, usual, 2), weighing_._of_new(form, 1, every)
    assert (known.weights.tolist(), belief.weights.tolist()) == ([1.0] * 6, [0.0] * 3)
    assert set(known.firm) == {fitting.FIRM}
    answers = [set(asked.queries.answers.list(query).tolist()) for query in every]
    assert belief.firm == pytest.approx(weighing.FIRM_OF_NEW * 60 / len(set().union(*answers)))
    thinned = weighing_._of_new(form, 1, every[::2])  # the rest is only judged by
    assert thinned.firm == pytest.approx(weighing.FIRM_OF_NEW * 30 / len(set().union(*answers[::2])))
    one = Questions(asked.queries.take(np.zeros(60, int)), asked.filters.take(np.zeros(60, int)))
    few = Weighing(model_of(leak_free), one, place)
    assert (few._of_new(form, 1, every).firm > 3 * belief.firm).all()
    assert set(few._belief(form, None, 2).firm) == {fitting.LOOSE}


def test_new_answers_count_alike_however_many_queries_ask_for_each():
    answers = ragged_of([[7], [7, 3], [3], [7], [5]])
    assert weighing._counts(answers, np.zeros(9, bool)).tolist() == [1] * 5
    assert weighing._counts(answers, np.ones(9, bool)).tolist() == pytest.approx([2 / 3, 5 / 6, 1, 2 / 3, 2])
    some = np.isin(np.arange(9), [7, 5])
    assert weighing._counts(answers, some).tolist() == pytest.approx([2 / 3, 5 / 6, 1, 2 / 3, 2])
    each = made(20)
    often = each.of(np.arange(20))._replace(counts=np.where(np.arange(20) == 4, 0.01, 1).astype(np.float32))
    many = Entries(
        *(np.concatenate([part, *[one] * 99]) for part, one in zip(often, often.of(np.array([4])), strict=True))
    )
    once = each._replace(counts=np.ones(20, dtype=np.float32))
    at = np.random.default_rng(2).normal(0, 0.3, 2 + len(fitting.SIZES) + 2)
    unsure = Belief.small(2, 0.0)
    alike = [fitting._Loss(entries, True, unsure)(at) for entries in (once, many)]
    np.testing.assert_allclose(alike[0][1][:2] * 20, alike[1][1][:2] * 20, atol=1e-3)


@pytest.mark.parametrize("model", [True, False])
@pytest.mark.parametrize("belief", [UNKNOWN, Belief.usual(np.array([0.5, -1.0]))])
def test_the_slope_is_that_of_the_loss(model, belief):
    entries = Entries(*(part.astype(np.float64) if part.dtype == np.float32 else part for part in made(12)))
    loss = fitting._Loss(entries, model, belief)
    at = np.random.default_rng(1).normal(0, 0.3, 2 + len(fitting.SIZES) + 2)
    slope = approx_fprime(at, lambda given: loss(given)[0], 1e-3)
    np.testing.assert_allclose(loss(at)[1], slope, atol=3e-3)


def test_the_loss_is_how_unlikely_the_answers_are_among_all_that_can_be_shown(leak_free):
    model, asked = model_of(leak_free), valid(leak_free, 30)["high"]
    tables = list(tables_in(leak_free)["high"].values())[:3]
    place = Places(tables)
    entries = Weighing(model, asked, place).entries([place.values(table) for table in tables])
    loss = fitting._Loss(entries, True, Belief.small(3 * len(CURVES)))
    weights = np.random.default_rng(0).random(3 * len(CURVES))
    given = np.concatenate([weights, np.zeros(len(fitting.SIZES) + 1), [fitting.USUAL_SCALE]])
    own = Scorer(model).scores(asked.queries.members).numpy() * loss.scale(fitting.USUAL_SCALE)
    expected = []
    for at in range(len(asked.queries)):
        members, answers = asked.queries.members.list(at), asked.queries.answers.list(at)
        columns = [curve(table.toarray()[members]).sum(0) for table, curve in product(tables, CURVES)]
        scores = own[at] + weights @ np.stack(columns)
        shown = sorted(set(range(leak_free.items)) - set(asked.filters.list(at)) | set(answers))
        expected.append(logsumexp(scores[shown]) - logsumexp(scores[answers]))
    ridge = fitting.LOOSE / len(expected) * (weights @ weights)
    assert loss(given)[0] == pytest.approx(np.mean(expected) + ridge, abs=2e-3)


def test_what_is_counted_together_weighs_what_it_weighs_one_by_one():
    scores = (5 * np.random.default_rng(0).standard_normal((4, 3000))).astype(np.float32)
    scores[1] = 2.5
    scores[2, 1:] = FAR
    scores[3] = FAR
    rest, many = counted(scores)
    for scale in (0.05, 0.3, 1.0, 3.0):
        found = logsumexp(scale * rest + many, axis=1)
        np.testing.assert_allclose(found[:3], logsumexp(scale * scores[:3].astype(float), axis=1), atol=3e-3)
        assert found[3] < 0.9 * FAR


def test_evidence_that_says_nothing_changes_nothing(leak_free):
    place = Places(list(tables_in(leak_free)["low"].values()))
    weighing_ = Weighing(model_of(leak_free), valid(leak_free, 40)["low"], place)
    choice, amounts = weighing_.best([np.zeros(len(place.targets), np.float32)], [])
    assert choice.valid_mrr == pytest.approx(choice.alone)
    assert not amounts.any()


@pytest.mark.parametrize(("share", "form"), [(0.97, "sums and logarithms"), (0.9, "none")])
def test_a_model_chosen_by_the_queries_must_be_clearly_better_alone(leak_free, monkeypatch, share, form):
    """Its best step was picked by these queries; evidence is judged by those that it was not fitted to."""
    place = Places(list(tables_in(leak_free)["low"].values()))
    asked = Weighing(model_of(leak_free), valid(leak_free, 40)["low"], place)
    monkeypatch.setattr(
        Weighing, "_judged", lambda _self, _tables, ways, *_: alike([0.3] + [share * 0.3] * len(ways[1:]))
    )
    table = np.ones(len(place.targets), np.float32)
    assert asked.best([table], [])[0].form == form
    assert asked.best([table], [table])[0].form == form  # nor does what is said of new items take its place


@pytest.mark.parametrize("seed", range(4))
def test_a_table_of_a_few_large_numbers_does_not_lead_the_search_astray(seed):
    """As row cosine of a large shop's orders is: what tells beside it was given no weight at all."""
    entries, draws = made(200, seed=seed), np.random.default_rng(seed)
    large = np.exp(5 * draws.standard_normal(len(entries.own))) * (draws.random(len(entries.own)) < 0.3)
    features = np.stack([0.03 * entries.features[:, 0], large], axis=1).astype(np.float32)
    weights, _ = fitted(entries._replace(features=features), False, UNKNOWN)
    assert weights[0] > 1
    assert abs(weights[1]) < 1e-3


def test_a_search_that_goes_astray_says_nothing():
    entries = made(2)
    entries.features[0] = np.nan
    weights, scale = fitted(entries, True, UNKNOWN)
    assert weights.tolist() == [0, 0]
    assert scale > 0


def alike(means):
    """Ways that have the same of every query."""
    return Standing(np.repeat(np.array(means)[:, None], 2, axis=1), np.ones(2))


def forms_tried(dataset, monkeypatch, forms, mrr):
    """What `best` makes of two tables where ways rank as `mrr` has it, and the weights of each way."""
    asked, tables = valid(dataset, 60)["low"], list(tables_in(dataset)["low"].values())[:2]
    place, tried = Places(tables), []

    def judged(self, tables, ways, halves, counts):
        tried.extend(way[0] for way in ways)
        return alike(mrr)

    numbers, weighing_ = (
        [place.values(table) for table in tables],
        Weighing(model_of(dataset), asked, place, None, forms),
    )
    monkeypatch.setattr(Weighing, "_judged", judged)
    return *weighing_.best(numbers, []), tried, weighing_.entries(numbers)


def test_evidence_counts_as_many_times_what_is_likeliest_as_ranks_best(leak_free, monkeypatch):
    forms = {f"{times}": FORMS["sums and logarithms"]._replace(times=times) for times in (1.0, 2.0, 4.0)}
    choice, found, tried, entries = forms_tried(leak_free, monkeypatch, forms, [0.2, 0.3, 0.4, 0.5])
    assert choice == weighing.Choice("4.0", 0.5, 0.2)
    assert not tried[0].any()  # the model alone
    np.testing.assert_allclose(tried[3], 4 * tried[1])
    likeliest = weighing._weights(FORMS["sums and logarithms"], Belief.small(6), entries)
    np.testing.assert_allclose(found, 4 * likeliest, rtol=1e-6)


def test_the_next_form_must_be_worth_it(leak_free, monkeypatch):
    """Between ways that rank alike chance chooses: the first of them is the one that shops mostly want."""
    choice, *_ = forms_tried(leak_free, monkeypatch, FORMS, [0.2, 0.5, 0.501, 0.502, 0.5024])
    assert choice.form == next(iter(FORMS))
    choice, *_ = forms_tried(leak_free, monkeypatch, FORMS, [0.2, 0.5, 0.501, 0.502, 0.5026])
    assert choice.form == list(FORMS)[-1]


def test_of_orders_the_next_form_must_be_better_by_more_than_chance():
    """A twentieth better on the mean, but of a few queries alone: by one and a half standard errors, or not."""
    draws = np.random.default_rng(0)
    before = 0.2 * np.ones(400)
    few, many = before.copy(), before + 0.01
    few[:4] += 1.0
    noisy = many + 0.05 * draws.standard_normal(400)
    standing = Standing(np.stack([before, few, many, noisy]), np.ones(400))
    assert [round(mean, 2) for mean in standing.means] == [0.2, 0.21, 0.21, 0.21]
    assert [standing.better(at, 0, 0.0) for at in (1, 2, 3)] == [True, True, True]
    assert [standing.better(at, 0, 2.5) for at in (1, 2, 3)] == [False, True, True]
    rare = Standing(standing.found, np.where(np.arange(400) < 4, 0.01, 1.0))  # those few hardly count
    assert not rare.better(1, 0, 0.0)


@pytest.mark.parametrize("kind", ["low", "high"])
def test_ways_are_judged_as_the_evidence_that_they_make_ranks(leak_free, kind):
    """Weights from either half rank the queries of the other."""
    asked, tables = valid(leak_free, 60)[kind], list(tables_in(leak_free)[kind].values())[:3]
    place, model = Places(tables, matrix_of_views(leak_free)), model_of(leak_free)
    numbers, draws = [place.values(table) for table in tables], np.random.default_rng(0)
    ways = [[draws.random((3, len(CURVES))) for _ in range(2)] for _ in range(4)]
    ways.append([np.zeros((3, len(CURVES)))] * 2)
    halves, counts = [np.arange(0, 60, 2), np.arange(1, 60, 2)], 1 + np.arange(60) % 3
    found = Weighing(model, asked, place)._judged(numbers, ways, halves, counts).means
    for way, mrr in zip(ways, found, strict=True):
        expected = []
        for half, theirs in zip(halves, way[::-1], strict=True):
            parts = (place.starts, place.targets, np.stack([amounts(numbers, theirs)] * 2), place.viewed)
            evidence = Evidence(*map(torch.from_numpy, parts))
            part = Questions(asked.queries.take(half), asked.filters.take(half))
            expected.append(mean_mrr(Scorer(model, evidence).scores, part, leak_free.items, counts[half]))
        assert mrr == pytest.approx(np.average(expected, weights=[counts[half].sum() for half in halves]), rel=1e-3)


def test_ways_are_judged_by_baskets_of_each_size_alike():
    members = ragged_of([[1, 2]] * 6 + [[1, 2, 3]] * 3 + [list(range(5)), list(range(8))])
    counts = weighing._of_sizes(members)
    assert counts.tolist() == pytest.approx([1 / 6] * 6 + [1 / 3] * 3 + [1 / 2] * 2)  # 5 to 8 items are of one size


def test_weights_are_fitted_to_some_queries_and_judged_by_all(monkeypatch):
    halves = [np.arange(0, 30, 2), np.arange(1, 30, 2)]
    learnt, places = weighing._thinned(halves)
    assert learnt.tolist() == list(range(30))
    assert [learnt[half].tolist() for half in places] == [half.tolist() for half in halves]
    monkeypatch.setattr(weighing, "FITTED", 10)
    learnt, places = weighing._thinned(halves)
    assert [learnt[half].tolist() for half in places] == [[0, 6, 12, 18, 24], [1, 7, 13, 19, 25]]
    assert len(learnt) == 10


def matrix_of_views(dataset):
    return matrix(dataset.graph().links[Relation.CO_VIEW], dataset.items)
