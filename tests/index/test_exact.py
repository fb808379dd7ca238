"""The exact index against all divergences in float64, and what it must never return."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Beta as TorchBeta
from torch.distributions import kl_divergence

from logirec.config import recipe
from logirec.index.coarse import WORTH_A_TRY, pays
from logirec.index.exact import ExactIndex, best_of
from logirec.index.scan import BLOCK, WholeScan, largest
from logirec.logic.beta import Beta
from logirec.model.artifact import TrainedModel
from logirec.model.evidence import Evidence
from logirec.model.logirec import Asked, LogiRec, Shape
from logirec.relation import Relation

ITEMS, TOP_K = 500, 10


def random_model(seed: int, preset: str = "default") -> LogiRec:
    config = recipe(preset, "hybrid", 0, {"model": {"dims": 24, "width": 32, "item_spread": 2.0}}).model
    model = LogiRec(ITEMS, config, seed)
    draws = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        if model.bias is not None:
            model.bias.copy_(torch.randn(model.bias.shape, generator=draws))
    return model


def queries_of(model: LogiRec, count: int = 40) -> Beta:
    members = torch.arange(count)[:, None]
    return Beta(*(part.detach() for part in model.ask([Asked(Shape.LOW, members)])[0]))


def brute_force(model: LogiRec, queries: Beta, relation: Relation) -> torch.Tensor:
    """Pair by pair with torch.distributions, in float64."""
    items = model.embed(torch.arange(model.items))
    first = TorchBeta(items.alpha.double()[None], items.beta.double()[None])
    second = TorchBeta(queries.alpha.double()[:, None], queries.beta.double()[:, None])
    scores = -kl_divergence(first, second).sum(-1)
    if model.log_scale is not None:
        scores = scores * model.log_scale.double().exp()
    return (scores if model.bias is None else scores + model.bias[relation].double()).detach()


def check(model: LogiRec) -> None:
    queries, index = queries_of(model), ExactIndex(model)
    for relation in Relation:
        expected = brute_force(model, queries, relation)
        found = index.search(queries, relation, TOP_K)
        spread = expected.std()
        torch.testing.assert_close(found.scores.double(), expected.gather(1, found.rows), rtol=1e-4, atol=1e-4 * spread)
        best = expected.topk(TOP_K + 1, dim=1)
        for row in range(len(expected)):
            # Equal up to ties: what float32 cannot tell apart may change places.
            kth, next_ = best.values[row, TOP_K - 1], best.values[row, TOP_K]
            if kth - next_ > 1e-4 * spread:
                assert set(found.rows[row].tolist()) == set(best.indices[row, :TOP_K].tolist())


@pytest.mark.parametrize(("seed", "preset"), [(1, "default"), (2, "default"), (3, "paper")])
def test_random_models(seed, preset):
    check(random_model(seed, preset))


def test_a_trained_model(trained_folder):
    check(TrainedModel.load(trained_folder).model)


@given(st.data())
def test_what_is_forbidden_never_comes_and_the_rest_is_in_order(data):
    items, top_k = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 20))
    scores = torch.tensor([data.draw(st.lists(st.integers(-3, 3), min_size=items, max_size=items))]).float()
    forbidden = torch.tensor([data.draw(st.lists(st.booleans(), min_size=items, max_size=items))])
    found = best_of(scores.clone(), top_k, forbidden)
    allowed = [row for row in range(items) if not forbidden[0, row]]
    expected = sorted(allowed, key=lambda row: (-float(scores[0, row]), row))[:top_k]
    rows = [row for row in found.rows[0].tolist() if row >= 0]
    assert sorted(float(scores[0, row]) for row in rows) == sorted(float(scores[0, row]) for row in expected)
    assert len(rows) == len(expected)
    assert set(rows) <= set(allowed)
    pairs = [(-float(scores[0, row]), row) for row in rows]
    assert pairs == sorted(pairs)


def test_more_than_the_catalogue_has_gives_all_of_it():
    model = random_model(1)
    found = ExactIndex(model).search(queries_of(model, 2), Relation.CO_PURCHASE, 10 * ITEMS)
    assert found.rows.shape == (2, ITEMS)
    assert sorted(found.rows[0].tolist()) == list(range(ITEMS))


def test_scores_of_some_items_are_those_of_all():
    model = random_model(2)
    queries, index = queries_of(model, 5), ExactIndex(model)
    rows = torch.randint(ITEMS, (5, 7), generator=torch.Generator().manual_seed(0))
    expected = index.scores(queries, Relation.CO_VIEW).gather(1, rows)
    torch.testing.assert_close(index.scores_of(queries, Relation.CO_VIEW, rows), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize(("seed", "preset"), [(1, "default"), (2, "default"), (3, "paper")])
def test_a_scan_misses_nothing_above_its_floor(seed, preset, coarse):
    model = random_model(seed, preset)
    queries, index = queries_of(model), ExactIndex(model, coarse)
    for relation in Relation:
        exact = index.scores(queries, relation)
        found = index.scan(queries, relation, 50)
        torch.testing.assert_close(found.scores, exact.gather(1, found.rows), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(found.table.gather(1, found.rows), found.scores)
        assert (found.scores.diff(dim=1) <= 0).all()
        for row in range(len(exact)):
            above = (exact[row] > found.floor[row] + 1e-4).nonzero()[:, 0].tolist()
            assert set(above) <= set(found.rows[row].tolist())
        sure = (found.scores > found.floor[:, None]).sum(1)
        assert sure.min() >= TOP_K  # else it would be of no use
        off = (found.table - exact).abs()
        assert off.max() < 0.2 * exact.std() if coarse else off.max() < 1e-3


def test_a_scan_on_an_older_processor(monkeypatch):
    monkeypatch.setattr("logirec.index.coarse._exact", lambda length: False)
    test_a_scan_misses_nothing_above_its_floor(1, "default", True)


@pytest.mark.parametrize("coarse", [False, True])
def test_evidence_is_added_to_the_scores(coarse):
    model = random_model(1)
    queries, index = queries_of(model, 20), ExactIndex(model, coarse)
    own = index.scores(queries, Relation.CO_PURCHASE)
    draws = torch.Generator().manual_seed(1)
    kept = torch.rand(ITEMS, ITEMS, generator=draws) < 0.05
    amounts = torch.randn(2, ITEMS, ITEMS, generator=draws) * 3 * own.std()
    starts = torch.cat([torch.zeros(1, dtype=torch.int64), kept.sum(1).cumsum(0)])
    evidence = Evidence(starts, kept.nonzero()[:, 1].to(torch.int32), amounts[:, kept])
    members = torch.arange(40).view(20, 2)
    support = evidence.of(members)
    expected = own + torch.stack([(amounts[1] * kept)[pair].sum(0) for pair in members])
    found = index.scan(queries, Relation.CO_PURCHASE, 50, support)
    torch.testing.assert_close(found.scores, expected.gather(1, found.rows), rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(found.table.gather(1, found.rows), found.scores)
    for row in range(len(expected)):
        above = (expected[row] > found.floor[row] + 1e-3).nonzero()[:, 0].tolist()
        assert set(above) <= set(found.rows[row].tolist())
    assert (found.scores > found.floor[:, None]).sum(1).min() >= TOP_K
    best = index.search(queries, Relation.CO_PURCHASE, TOP_K, support=support)
    assert torch.equal(best.rows, best_of(expected, TOP_K).rows)
    rows = torch.arange(7).expand(20, -1)
    few = index.scores_of(queries, Relation.CO_PURCHASE, rows, support)
    torch.testing.assert_close(few, expected[:, :7], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.99, 1.0])
def test_a_scan_looks_again_past_what_is_forbidden(coarse, share):
    model = random_model(2)
    queries, index = queries_of(model, 8), ExactIndex(model, coarse)
    relations = [Relation.CO_VIEW, Relation.CO_PURCHASE] * 4
    found, exact = index.scan(queries, relations, TOP_K), index.scores(queries, relations)
    before = found.log_sums([0.5] * 8, [()] * 8)
    for line in range(8):
        forbidden = torch.rand(ITEMS, generator=torch.Generator().manual_seed(line)) < share
        forbidden[found.rows[line]] = True
        best = found.again(line, TOP_K, forbidden)
        expected = best_of(exact[line : line + 1].clone(), TOP_K, forbidden)
        assert torch.equal(best.rows, expected.rows)
        torch.testing.assert_close(best.scores, expected.scores, rtol=1e-4, atol=1e-3)
    assert found.log_sums([0.5] * 8, [()] * 8) == before


def test_a_scan_of_all_items_has_no_floor():
    model = random_model(1)
    for coarse in (False, True):
        found = ExactIndex(model, coarse).scan(queries_of(model, 3), Relation.CO_PURCHASE, 10 * ITEMS)
        assert found.rows.shape == (3, ITEMS)
        assert (found.floor == -torch.inf).all()


def test_whether_a_coarse_scan_pays_is_measured_for_large_catalogues_only():
    assert not pays(torch.zeros(100, 8))
    assert pays(torch.zeros(WORTH_A_TRY // 64, 64)) in (True, False)


@pytest.mark.parametrize(("seed", "preset"), [(1, "default"), (3, "paper")])
def test_how_high_items_stand_is_known_without_all_scores(seed, preset):
    model = random_model(seed, preset)
    queries, index = queries_of(model, 6), ExactIndex(model)
    relations = [Relation.CO_VIEW, Relation.CO_PURCHASE] * 3
    scores = index.scores(queries, relations).double()
    rows = torch.arange(7).expand(6, -1)
    found = index.heights(queries, relations, rows)
    deviation, mean = torch.std_mean(scores, 1, correction=0)
    torch.testing.assert_close(found.deviation.double(), deviation, rtol=1e-3, atol=1e-3)
    expected = (scores[:, :7] - mean[:, None]) / deviation[:, None]
    torch.testing.assert_close(found.above.double(), expected, rtol=1e-3, atol=1e-3)


def test_sums_without_what_towers_above_the_rest():
    table = torch.tensor([[900.0, 800, 1, 2, 3], [5, 4, 3, 2, 1]])
    scan = WholeScan(*best_of(table, 2), torch.zeros(2), None, table)
    found = scan.log_sums([0.5, 2], [[0, 1], []])
    expected = [torch.logsumexp(0.5 * table[0, 2:], 0), torch.logsumexp(2 * table[1], 0)]
    assert found == pytest.approx([float(one) for one in expected], rel=1e-5)
    assert scan.log_sums([0.0, 1.0], [[], [0, 1, 2, 3, 4]]) == [0.0, -math.inf]


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 12 * BLOCK), st.sampled_from([1.0, 100.0, 1e9]))
def test_the_largest_are_those_of_topk(seed, count, items, values):
    """Where there are few different values, equal ones may change places; masked items come last."""
    draws = torch.Generator().manual_seed(seed)
    table = (torch.rand(3, items, generator=draws) * values).round() / values
    table.masked_fill_(torch.rand(3, items, generator=draws) < 0.3, -torch.inf)
    count = min(count, items)
    found, rows = largest(table, count)
    assert torch.equal(found, table.topk(count, dim=1).values)
    assert torch.equal(table.gather(1, rows), found)
    assert all(len(set(line)) == count for line in rows.tolist())
