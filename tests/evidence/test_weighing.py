"""Weights of evidence: what they are fitted to, and that the fit does what it says."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import logsumexp

from logirec.evaluation.evaluate import Questions
from logirec.evidence import fitting, weighing
from logirec.evidence.fitting import FAR, Belief, Entries, counted, fitted
from logirec.evidence.weighing import CURVES, FORMS, Places, Weighing
from logirec.index.scorer import Scorer
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
    belief = Weighing(model_of(leak_free), asked, place)._belief(form, usual, 2, 1)
    assert belief.weights.tolist() == [1.0] * 6 + [0.0] * 3
    assert set(belief.firm[:6]) == {fitting.FIRM}
    answers = len(set(asked.queries.answers.values.tolist()))
    assert belief.firm[6:] == pytest.approx(weighing.FIRM_OF_NEW * 60 / answers)
    one = Questions(asked.queries.take(np.zeros(60, int)), asked.filters.take(np.zeros(60, int)))
    few = Weighing(model_of(leak_free), one, place)._belief(form, None, 2, 1)
    assert (few.firm[6:] > 3 * belief.firm[6:]).all()
    assert set(few.firm[:6]) == {fitting.LOOSE}


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
    alone = asked._mrr(None, asked.asked)
    monkeypatch.setattr(Weighing, "_judged", lambda *_: share * alone)
    table = np.ones(len(place.targets), np.float32)
    assert asked.best([table], [])[0].form == form
    assert asked.best([table], [table])[0].form == form  # nor does what is said of new items take its place


def test_a_search_that_goes_astray_says_nothing():
    entries = made(2)
    entries.features[0] = np.nan
    weights, scale = fitted(entries, True, UNKNOWN)
    assert weights.tolist() == [0, 0]
    assert scale > 0


def test_curves_have_a_number_for_what_speaks_against_a_pair():
    assert all(np.isfinite(curve(np.array([-3.0, 0.0, 2.0]))).all() for curve in CURVES)


def test_evidence_counts_as_many_times_what_is_likeliest_as_ranks_best(leak_free, monkeypatch):
    asked, tables = valid(leak_free, 60)["low"], list(tables_in(leak_free)["low"].values())[:2]
    place = Places(tables)
    numbers, model = [place.values(table) for table in tables], model_of(leak_free)
    tried = []

    def judged(self, tables, weights, entries, halves):
        tried.append(weights[0])
        return len(tried) if len(tried) <= 3 else 0.0  # the third is the best

    monkeypatch.setattr(Weighing, "_judged", judged)
    choice, found = Weighing(model, asked, place, times=(1.0, 2.0, 4.0)).best(numbers, [])
    assert choice.form == "sums and logarithms, 4 times"
    assert len(tried) == 3 + 3 + 1 + 1  # with hardly the model, evidence is all there is
    np.testing.assert_allclose(tried[2], 4 * tried[0])
    tried.clear()
    Weighing(model, asked, place).best(numbers, [])
    assert len(tried) == len(FORMS)  # links: each once
    monkeypatch.undo()
    entries = Weighing(model, asked, place).entries(numbers)
    form = FORMS["sums and logarithms"]
    np.testing.assert_allclose(found, 4 * weighing._weights(form, Belief.small(6), entries), rtol=1e-6)
