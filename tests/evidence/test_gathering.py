"""Evidence: where it comes from, what its weights are fitted to, and that it is only kept where it helps."""

import json
from itertools import product

import numpy as np
import pytest
import torch

from logirec.baselines.ease import Ease
from logirec.config import PrepareConfig, recipe
from logirec.data.dataset import Dataset
from logirec.data.graph import ItemGraph, Links
from logirec.data.prepare import Inputs, prepare
from logirec.data.query_sets import KINDS
from logirec.evaluation.evaluate import mean_mrr, questions
from logirec.evidence import gathering, weighing
from logirec.evidence.gathering import gathered, heard
from logirec.evidence.lookalikes import lookalikes
from logirec.evidence.sources import said, sources_of
from logirec.evidence.tables import MOST, NEAR, OPINIONS, ORDERS, STRENGTHS, WORDS, _opinions, best_ease, tables_of
from logirec.evidence.usual import USUAL
from logirec.evidence.weighing import CURVES, Choice, Places
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


def tables_in(dataset, models=()):
    return tables_of(dataset, best_ease(dataset, {}, "cpu"), models)


@pytest.mark.parametrize("name", ["leak_free", "baskets"])
def test_it_makes_a_model_that_knows_nothing_rank_well(request, name):
    dataset = request.getfixturevalue(name)
    model, asked = model_of(dataset), valid(dataset)
    counts = {kind: weighing._of_sizes(asked[kind].queries.members) for kind in KINDS}  # baskets of each size alike
    alone = {kind: mean_mrr(Scorer(model).scores, asked[kind], dataset.items, counts[kind]) for kind in KINDS}
    model.evidence, chosen, *_ = gathered(model, dataset, asked)
    test = {kind: questions(dataset, "test", kind, 200) for kind in KINDS}
    for kind in KINDS:
        assert chosen[kind].form != "none"
        assert chosen[kind].alone == pytest.approx(alone[kind])
        assert mean_mrr(Scorer(model).scores, test[kind], dataset.items) > 3 * alone[kind]


def test_it_is_the_same_every_time(leak_free):
    first, second = (gathered(model_of(leak_free), leak_free, valid(leak_free, 50))[0] for _ in range(2))
    for name, tensor in first.tensors().items():
        assert torch.equal(tensor, second.tensors()[name])


def test_a_large_catalogue_is_worked_on_part_by_part(cold_items, monkeypatch):
    """With the same result."""
    whole = gathered(model_of(cold_items), cold_items, valid(cold_items, 50), lookalikes(cold_items)).evidence
    monkeypatch.setattr(gathering, "ROWS", 37)
    parts = gathered(model_of(cold_items), cold_items, valid(cold_items, 50), lookalikes(cold_items)).evidence
    for name, tensor in whole.tensors().items():
        assert torch.equal(tensor, parts.tensors()[name])


@pytest.mark.parametrize("name", ["leak_free", "baskets"])
def test_so_are_its_tables(request, name, monkeypatch):
    dataset = request.getfixturevalue(name)
    for module, most in (("baselines.ease.HEAD", 60), ("evidence.regression.MOST_TARGETS", 50)):
        monkeypatch.setattr(f"logirec.{module}", most)  # so that there is a tail
    monkeypatch.setattr("logirec.evidence.tables.MOST", dataset.items)  # rounding chooses among what is nearly equal
    models = [model_of(dataset)]
    whole = tables_in(dataset, models)
    for module in ("baselines.rows.STEP", "evidence.regression.STEP", "evidence.tables.TILE", "evidence.tables.ROWS"):
        monkeypatch.setattr(f"logirec.{module}", 11)
    parts = tables_in(dataset, models)
    for kind, tables in whole.items():
        for named, table in tables.items():
            np.testing.assert_allclose(parts[kind][named].toarray(), table.toarray(), rtol=1e-5, atol=1e-7)


def test_weights_are_fitted_where_validation_asks_and_nowhere_else(leak_free):
    sources = sources_of(leak_free, best_ease(leak_free, {}, "cpu"), None, ())
    some = sources.about(np.array([3, 5, 9]))
    for name, table in sources.tables["low"].items():
        expected = np.zeros((leak_free.items, leak_free.items))
        expected[[3, 5, 9]] = table.toarray()[[3, 5, 9]]
        assert np.array_equal(some.tables["low"][name].toarray(), expected)
    assert set(np.flatnonzero(np.diff(some.places().starts))) <= {3, 5, 9}


def test_tables_know_the_training_links_alone(leak_free):
    held_out = {
        (one, other)
        for stage in ("valid", "test")
        for one, other in zip(*leak_free.graph(stage).links[Relation.CO_PURCHASE][:2], strict=True)
    } - set(zip(*leak_free.graph().links[Relation.CO_PURCHASE][:2], strict=True))
    assert held_out
    tables = tables_in(leak_free)["low"]
    linked, reverse, viewed = (tables[name].toarray() for name in ("bought", "sold", "viewed"))
    assert not any(linked[pair] or reverse[pair[::-1]] for pair in held_out)
    assert np.array_equal(linked, reverse.T)
    assert np.array_equal(viewed, viewed.T)


@pytest.mark.parametrize("in_order", [True, False])
def test_how_strong_links_are_counts_where_it_says_something(tmp_path, in_order):
    """Lists of the twenty that sell best with an item, cut off there: the last of one are those that another lacks."""
    random, lines = np.random.default_rng(0), []
    liked = np.linspace(2, 0, 60)
    for item in range(150):
        listed = [f"t{at}" for at in np.argsort(-(liked + 0.4 * random.normal(size=60)))[:20]]
        listed = listed if in_order else random.permutation(listed).tolist()
        lines.append(json.dumps({"asin": f"s{item}", "also_buy": listed}))
    (tmp_path / "meta.json").write_text("\n".join(lines))
    prepare(Inputs(tmp_path / "meta.json"), tmp_path / "dataset", PrepareConfig())
    dataset = Dataset.load(tmp_path / "dataset")
    asked = {"low": questions(dataset, "valid", "low")}
    assert best_ease(dataset, asked, "cpu").fade == (0.5 if in_order else 0)


@pytest.mark.parametrize(("better", "fade"), [(1.001, 0.0), (1.02, 0.5)])
def test_the_order_of_links_must_be_worth_it(leak_free, monkeypatch, better, fade):
    """Which of the two ranks validation better by a hair is chance."""
    monkeypatch.setattr(
        "logirec.evidence.tables.mean_mrr", lambda scores, *_: 0.5 * better ** (scores.__self__.fade > 0)
    )
    monkeypatch.setattr("logirec.evidence.tables._in_order", lambda _: True)
    assert best_ease(leak_free, valid(leak_free, 20), "cpu").fade == fade


def test_links_of_one_strength_are_not_asked_for_their_order(leak_free, monkeypatch):
    graph, asked = leak_free.graph(), valid(leak_free, 20)
    bought = graph.links[Relation.CO_PURCHASE]
    plain = {**graph.links, Relation.CO_PURCHASE: Links(bought.source, bought.target, np.ones(len(bought), np.float32))}
    monkeypatch.setattr(type(leak_free), "graph", lambda _: ItemGraph(leak_free.items, plain))
    monkeypatch.setattr("logirec.evidence.tables.mean_mrr", None)  # there is nothing to choose
    assert best_ease(leak_free, asked, "cpu").fade == 0


def test_two_steps_lead_past_what_is_viewed_and_past_shared_neighbours(leak_free):
    tables = {name: table.toarray() for name, table in tables_in(leak_free)["low"].items()}
    bought, sold, viewed = (tables[name] for name in ("bought", "sold", "viewed"))
    linked = np.maximum(bought, sold)
    for found, expected in (
        (tables["past views"], viewed / np.maximum(viewed.sum(1, keepdims=True), 1) @ bought),
        (tables["shared neighbours"], linked @ (linked / np.maximum(linked.sum(1, keepdims=True), 1))),
    ):
        np.fill_diagonal(expected, 0)
        best = expected.max(1)
        np.testing.assert_allclose(found, expected / np.median(best[best > 0]), rtol=1e-5, atol=1e-6)


def test_where_sets_run_backwards_they_have_tables_of_their_own(leak_free, monkeypatch):
    monkeypatch.setattr(type(leak_free), "sets_run_backwards", True)
    low, high = (tables_in(leak_free)[kind] for kind in KINDS)
    assert np.array_equal(low["bought"].toarray(), high["sold"].toarray())
    assert not np.array_equal(low["regression"].toarray(), high["regression"].toarray())


def test_of_sets_a_known_link_says_all_there_is_to_say(leak_free):
    tables = tables_in(leak_free)["high"]
    place = Places(list(tables.values()))
    linked = place.values(tables["bought"]) > 0
    for of_sets in (False, True):
        numbers = dict(zip(tables, said(place, tables, of_sets), strict=True))
        for name, table in tables.items():
            expected = place.values(table)
            assert expected[linked].any()
            if of_sets and name != "bought":
                expected[linked] = 0
            assert np.array_equal(numbers[name], expected)


@pytest.mark.parametrize("filtered", [True, False])
def test_what_is_known_is_left_to_the_links_where_a_set_is_ranked_without_it(leak_free, monkeypatch, filtered):
    """Raw ranking has it among the rest, where all tables have their say."""
    asked = []
    monkeypatch.setattr(
        "logirec.evidence.sources.said",
        lambda place, tables, of_sets: asked.append(of_sets) or [place.values(t) for t in tables.values()],
    )
    gathered(model_of(leak_free), leak_free, valid(leak_free, 20), filtered=filtered)
    assert asked == [False, filtered] * 2  # weighed, then made


def test_a_set_is_answered_by_what_goes_with_all_of_it(leak_free):
    """What every member is known to be bought with comes before what one is, and this before the rest."""
    model, asked = model_of(leak_free), valid(leak_free)
    model.evidence = gathered(model, leak_free, asked).evidence
    sets = asked["high"].queries.members
    linked = tables_in(leak_free)["high"]["bought"].toarray()
    known = np.stack([linked[sets.list(at)].mean(0) for at in range(len(sets))])
    scores = Scorer(model).scores(sets).numpy()
    all_of_it, some, none = (scores[where].mean() for where in (known == 1, (known > 0) & (known < 1), known == 0))
    assert all_of_it > some > none


def test_orders_are_trusted_as_far_as_validation_says(baskets, monkeypatch):
    asked, tried = valid(baskets), {}
    for strength in (0.3, 300.0):
        fitted = Ease(strength, words=WORDS, near=NEAR).fit(baskets)
        tried[strength] = np.prod([mean_mrr(fitted.scores, asked[kind], baskets.items) for kind in KINDS])
    monkeypatch.setattr("logirec.evidence.tables.STRENGTHS", tuple(tried))
    assert best_ease(baskets, asked, "cpu").regularization == max(tried, key=tried.get)


@pytest.mark.parametrize(("plain", "reads"), [(1.004, True), (1.006, False)])
def test_the_order_of_lines_is_read_unless_plain_orders_are_better(baskets, monkeypatch, plain, reads):
    monkeypatch.setattr(
        "logirec.evidence.tables.mean_mrr", lambda scores, *_: 0.5 * (1 if scores.__self__.near else plain**0.5)
    )
    assert (best_ease(baskets, valid(baskets), "cpu").near > 0) == reads
    monkeypatch.setattr(Dataset, "lines", lambda _: None)
    assert not best_ease(baskets, valid(baskets), "cpu").near


def test_what_speaks_against_a_pair_counts_in_orders_alone(leak_free, baskets):
    assert all((table.data >= 0).all() for table in tables_in(leak_free)["low"].values())
    regression = tables_in(baskets)["low"][ORDERS]
    assert (regression.data < 0).any()
    whole = Ease(STRENGTHS[0], words=WORDS, near=NEAR).fit(baskets).low.weights.numpy()
    kept = regression.toarray()
    assert np.array_equal(np.sign(kept)[kept != 0], np.sign(whole)[kept != 0])
    for row, sizes in zip(kept, np.abs(whole), strict=True):
        assert sizes[row != 0].min(initial=np.inf) >= sizes[row == 0].max(initial=0)


def test_what_is_viewed_with_an_item_is_marked(leak_free):
    """A query that asks for no substitutes hears no evidence for them, and what it was weighed by is what it is."""
    views, evidence = leak_free.graph().links[Relation.CO_VIEW], gathered(model_of(leak_free), leak_free, {})[0]
    owners = np.repeat(np.arange(leak_free.items), np.diff(evidence.starts.numpy()))
    known = set(zip(views.source.tolist(), views.target.tolist(), strict=True))
    pairs = zip(owners.tolist(), evidence.targets.tolist(), strict=True)
    assert [pair in known for pair in pairs] == evidence.viewed.tolist()
    assert evidence.viewed.any()


def test_raw_ranking_puts_what_is_known_last(leak_free):
    """It leaves the known answers in, where they stand in the way of the new ones."""
    first = {}
    for ranking in ("filtered", "raw"):
        model, asked = model_of(leak_free), valid(leak_free)
        if ranking == "raw":
            asked = {kind: queries.raw() for kind, queries in asked.items()}
        model.evidence = gathered(model, leak_free, asked, filtered=ranking == "filtered").evidence
        queries = leak_free.queries("valid", "low")  # what is known there is what training has seen
        best = Scorer(model).scores(queries.members).argmax(1).tolist()
        first[ranking] = sum(row in queries.known.list(at) for at, row in enumerate(best))
    assert first["filtered"] > 0.5 * len(best)
    assert first["raw"] < 0.1 * len(best)


def test_usual_weights_are_for_usual_tables(leak_free, baskets):
    """A table that has none would leave all of them out, and a shop with few queries to itself."""
    models = [model_of(leak_free)]
    for kind in KINDS:
        tables = tables_in(leak_free, models)[kind]
        assert tables.keys() == USUAL[kind].keys()
        assert gathering._usual(kind, tables).shape == (len(tables), len(CURVES))
        assert gathering._usual(kind, tables_in(baskets)[kind]) is None


def test_few_queries_stay_near_what_is_usual(leak_free, monkeypatch):
    """Four of a kind, drawn three times: some draws do well by themselves."""
    test = {kind: questions(leak_free, "test", kind, 300) for kind in KINDS}
    found: dict[bool, list[float]] = {True: [], False: []}
    for usual, seed in product(found, range(3)):
        asked = {kind: questions(leak_free, "valid", kind, 4, seed) for kind in KINDS}
        model = model_of(leak_free)
        with monkeypatch.context() as patched:
            if not usual:
                patched.setattr(gathering, "_usual", lambda kind, tables: None)
            model.evidence = gathered(model, leak_free, asked).evidence
        found[usual] += [mean_mrr(Scorer(model).scores, test[kind], leak_free.items) for kind in KINDS]
    assert np.mean(found[True]) > 1.02 * np.mean(found[False])


def test_opinions_are_the_mean_of_what_models_think(leak_free):
    models = [model_of(leak_free), LogiRec(leak_free.items, model_of(leak_free).config, 1).eval()]
    found = _opinions(models).toarray()
    rows = ragged_of([[row] for row in range(leak_free.items)])
    logs = torch.stack([Scorer(model).scores(rows).log_softmax(1) for model in models]).mean(0)
    logs.fill_diagonal_(-torch.inf)
    expected = logs.softmax(1).numpy()
    scale = np.median(expected.max(1))
    assert np.allclose(np.where(found, expected / scale, 0), found, rtol=1e-4)
    assert ((found > 0).sum(1) == min(MOST, leak_free.items - 1)).all()
    assert np.allclose(found.max(1), expected.max(1) / scale, rtol=1e-4)


def test_a_models_validation_figure_is_with_its_evidence(trained_folder):
    metrics = json.loads((trained_folder / "metrics.json").read_text())
    chosen = metrics["evidence"]
    assert metrics["valid_mrr"] == pytest.approx((chosen["low"]["valid_mrr"] * chosen["high"]["valid_mrr"]) ** 0.5)
    assert metrics["valid_mrr"] > (chosen["low"]["alone"] * chosen["high"]["alone"]) ** 0.5


def test_whose_opinion_is_heard(leak_free, baskets):
    models = [model_of(leak_free), model_of(leak_free)]
    assert heard(models, leak_free) == models[1:]
    assert heard(models, baskets) == models


@pytest.mark.parametrize(("worth", "counts"), [(1.2, True), (1.001, False)])
def test_opinions_of_orders_must_be_worth_it(baskets, monkeypatch, worth, counts):
    """Three tables with opinions, two without; of new items none."""
    tables = tables_in(baskets, [model_of(baskets)])["low"]

    def best(weighing, known, of_new, usual):
        found = 0.1 * (worth if len(known) == len(tables) else 1)
        return Choice("sums", found, 0.0), np.ones((len(known), len(CURVES)))

    monkeypatch.setattr(gathering.Weighing, "best", best)
    weights = gathered(model_of(baskets), baskets, valid(baskets, 20), voices=[model_of(baskets)]).weights["low"]
    assert weights.shape == (len(tables), len(CURVES))
    opinions = list(tables).index(OPINIONS)
    assert weights[opinions].any() == counts
    assert np.delete(weights, opinions, axis=0).all()
