"""Baskets in, explained recommendations out: what never appears, what does not matter, and reasons that are true."""

import gc
import json
from dataclasses import asdict, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logirec.config import MAX_BASKET, recipe
from logirec.errors import InputError, UnknownItems
from logirec.fit import train
from logirec.index.exact import ExactIndex
from logirec.index.scorer import Scorer
from logirec.model.artifact import TrainedModel
from logirec.model.catalogue import KnownLinks
from logirec.model.reasoning import Reasoning
from logirec.query import any_of, complement, parse
from logirec.recommender import ranking
from logirec.recommender.answers import Request
from logirec.recommender.asking import look_up
from logirec.recommender.recommender import Recommender
from logirec.relation import Relation
from tests.baselines.worlds import ragged_of


@pytest.fixture(scope="module")
def recommender(trained_folder):
    return Recommender.load(trained_folder)


@pytest.fixture(scope="module")
def ids(recommender):
    """Items that have links, the best known first."""
    bought = recommender.shelf.bought
    rows = sorted(range(recommender.shelf.items), key=lambda row: -len(bought.of(row)))
    return [recommender.shelf.vocabulary.item_ids[row] for row in rows]


def all_items(recommender, basket, **options):
    return recommender.recommend(basket, top_k=10**6, without_substitutes=False, explain=False, **options)


def score_of(recommender, item_id, query):
    return {found.item_id: found.score for found in all_items(recommender, [], query=parse(query))}[item_id]


def height_of(recommender, item_id, query, measured_by=None):
    """In standard deviations above the mean of all items, from all scores; and what evidence adds, in those of the
    query that it is measured by, and by its amounts."""
    asked = look_up(Request(query=parse(query)), recommender.shelf).branches[0]
    index, model = recommender.shelf.index, recommender.trained.model
    scores = index.scores(Reasoning(model, [asked.meeting]).of([asked.meeting]), asked.relation)[0].double()
    (row,) = recommender.shelf.rows([item_id])
    evidence, several = 0.0, len(asked.basket) > 1 if measured_by is None else measured_by.several
    for member in asked.basket if asked.relation == Relation.CO_PURCHASE else ():
        start, end = model.evidence.starts[member : member + 2].tolist()
        amounts = model.evidence.amounts[int(several), start:end]
        evidence += float(amounts[model.evidence.targets[start:end] == row].sum())
    deviation = float(scores.std(correction=0))
    ruler = deviation if measured_by is None else measured_by.deviation
    return Height(float(scores[row] - scores.mean()) / deviation, evidence / ruler, deviation, several)


class Height(NamedTuple):
    model: float
    evidence: float
    deviation: float
    several: bool  # its amounts of evidence are those of an item among several

    @property
    def whole(self) -> float:
        return self.model + self.evidence


def test_the_order_is_that_of_what_is_evaluated(recommender, ids):
    for basket in ([ids[0]], ids[:3]):
        rows = recommender.shelf.rows(sorted(basket))
        expected = Scorer(recommender.trained.model).scores(ragged_of([rows]))[0]
        found = all_items(recommender, basket)
        assert len(found.recommendations) == recommender.shelf.items - len(basket)
        scores = torch.tensor([one.score for one in found])
        own = expected[list(recommender.shelf.rows(one.item_id for one in found))]
        torch.testing.assert_close(scores, own, rtol=1e-4, atol=1e-4)
        assert [one.rank for one in found] == list(range(1, len(scores) + 1))
        assert (scores.diff() <= 0).all()


def test_order_and_repeats_do_not_matter(recommender, ids):
    a, b, c = ids[:3]
    assert recommender.recommend([a, b, c]) == recommender.recommend([c, b, a, a, c])


def test_a_batch_equals_its_requests_alone(recommender, ids):
    requests = [
        Request(ids[:1]),
        Request(ids[:3], top_k=3),
        Request(query=parse(f"complement({ids[0]}) | complement({ids[1]} & {ids[2]}) & ~substitute({ids[1]})")),
        Request([ids[4]], without_substitutes=False, exclude=ids[5:9]),
    ]
    for request, together in zip(requests, recommender.recommend_many(requests), strict=True):
        (alone,) = recommender.recommend_many([request])
        assert [one.item_id for one in together] == [one.item_id for one in alone]
        for ours, theirs in zip(together, alone, strict=True):
            assert ours.score == pytest.approx(theirs.score, rel=1e-4, abs=1e-4)
            assert ours.confidence == pytest.approx(theirs.confidence, abs=1e-3)


@pytest.mark.parametrize("spare", [0, 3, 128])
def test_how_the_catalogue_is_scanned_does_not_matter(trained_folder, recommender, ids, spare, monkeypatch):
    """In int8, and with so few items brought up that those that are ruled out leave too few."""
    coarse = Recommender(TrainedModel.load(trained_folder))
    coarse.shelf.index = ExactIndex(coarse.trained.model, coarse=True)
    category = max(recommender.trained.catalogue.rows_of_category.items(), key=lambda found: len(found[1]))[0]
    requests = [
        Request(ids[:1]),
        Request(ids[:3], top_k=3, exclude=ids[3:30]),
        Request(ids[5:6], categories=[category]),
        Request(query=parse(f"substitute({ids[0]}) | complement({ids[1]} & {ids[2]}) & ~substitute({ids[1]})")),
        Request(ids[7:9], top_k=10**6, explain=False),
    ]
    expected = recommender.recommend_many(requests)
    monkeypatch.setattr(ranking, "SPARE", spare)
    for ours, theirs in zip(coarse.recommend_many(requests), expected, strict=True):
        assert [one.item_id for one in ours] == [one.item_id for one in theirs]
        assert {gone.item_id for gone in ours.removed} == {gone.item_id for gone in theirs.removed}
        for one, other in zip(ours, theirs, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-3)
            assert one.confidence == pytest.approx(other.confidence, abs=0.01)


def test_unknown_items_are_named_and_left_out(recommender, ids):
    answer = recommender.recommend([ids[0], "no such item", "nor this"])
    assert answer.unknown == ("no such item", "nor this")
    assert list(answer) == list(recommender.recommend([ids[0]]))
    mixed = recommender.recommend(query=parse(f'complement({ids[0]} & "no such item") & ~substitute(nothing)'))
    assert mixed.unknown == ("no such item", "nothing")
    assert [one.item_id for one in mixed] == [one.item_id for one in recommender.recommend(query=complement([ids[0]]))]
    with pytest.raises(UnknownItems, match="no such item"):
        recommender.recommend(["no such item"])
    with pytest.raises(UnknownItems):
        recommender.recommend(query=parse(f"complement(nothing) & ~substitute({ids[0]})"))
    with pytest.raises(InputError, match="empty basket"):
        recommender.recommend([])


def test_unknown_items_that_are_ruled_out_are_named_too(recommender, ids):
    answer = recommender.recommend([ids[0], "nor this"], exclude=["no such item", ids[1]])
    assert answer.unknown == ("no such item", "nor this")
    assert ids[1] not in [one.item_id for one in answer]


@pytest.mark.parametrize("wrong", [{"basket": "P1"}, {"exclude": "P1"}, {"categories": "Tea"}])
def test_one_text_is_no_list(recommender, ids, wrong):
    with pytest.raises(InputError, match="a list is needed"):
        recommender.recommend(**{"basket": ids[:1], **wrong})


def test_what_can_be_read_only_once_is_read_all_the_same(recommender, ids):
    best = [one.item_id for one in recommender.recommend(ids[:2])]
    answer = recommender.recommend(iter(ids[:2]), exclude=iter(best[:3]))
    assert not {*best[:3]} & {one.item_id for one in answer}


def test_no_category_at_all_is_refused(recommender, ids):
    with pytest.raises(InputError, match="an empty list"):
        recommender.recommend(ids[:1], categories=[])


def test_a_query_may_be_text(recommender, ids):
    text = f"complement({ids[0]}) & ~substitute({ids[1]})"
    assert recommender.recommend(query=text) == recommender.recommend(query=parse(text))
    with pytest.raises(InputError, match=r"logirec.parse"):
        Request(query=text)


def test_limits(recommender, ids):
    assert recommender.recommend(ids[:MAX_BASKET]).recommendations
    with pytest.raises(InputError, match=f"at most {MAX_BASKET}"):
        recommender.recommend(ids[: MAX_BASKET + 1])
    with pytest.raises(InputError, match="top_k"):
        recommender.recommend(ids[:1], top_k=0)


@given(st.data())
def test_what_is_ruled_out_never_appears(recommender, ids, data):
    some = st.lists(st.sampled_from(ids[:60]), max_size=6)
    basket = data.draw(st.lists(st.sampled_from(ids[:60]), min_size=1, max_size=4))
    exclude = data.draw(some)
    names = sorted(recommender.trained.catalogue.rows_of_category)
    categories = data.draw(st.none() | st.lists(st.sampled_from([*names, "no such category"]), min_size=1, max_size=3))
    hide = data.draw(st.booleans())
    if categories and not set(categories) & set(names):
        with pytest.raises(InputError, match="no item has one of these categories"):
            recommender.recommend(basket, categories=categories)
        return
    answer = recommender.recommend(basket, 30, None, hide, exclude, categories, explain=False)
    found = {one.item_id for one in answer}
    assert not found & {*basket, *exclude}
    assert len(found) == len(answer.recommendations) <= 30
    if categories is not None:
        assert {one.category for one in answer} <= set(categories)
    if hide:
        substitutes = recommender.shelf.substitutes(recommender.shelf.rows(basket))
        assert not set(recommender.shelf.rows(found)) & set(substitutes)


def test_known_substitutes_are_hidden_on_request_and_said_to_be(recommender, ids):
    hidden = shown = 0
    for basket in ([item] for item in ids[:40]):
        substitutes = set(recommender.shelf.substitutes(recommender.shelf.rows(basket)))
        with_them = recommender.recommend(basket, 20, without_substitutes=False)
        shown += sum(row in substitutes for row in recommender.shelf.rows(one.item_id for one in with_them))
        assert not any(gone.known for gone in with_them.removed)
        without = recommender.recommend(basket, 20)
        for gone in (gone for gone in without.removed if gone.known):
            hidden += 1
            assert recommender.shelf.rows([gone.item_id])[0] in substitutes
            assert gone.by == f"~substitute({basket[0]})"
    assert shown > 0
    assert hidden > 0


def test_each_contribution_is_the_change_without_the_item(recommender, ids):
    basket = sorted(ids[:3])
    for found in recommender.recommend(basket, 5):
        parts = {part.item_id: part for part in found.because.contributions}
        assert sorted(parts) == basket
        assert sum(part.share for part in parts.values()) == pytest.approx(1)
        assert sum(part.attention for part in parts.values()) == pytest.approx(1, abs=1e-5)
        for item_id, part in parts.items():
            rest = " & ".join(other for other in basket if other != item_id)
            stands = height_of(recommender, found.item_id, f"complement({' & '.join(basket)})")
            assert found.because.model == pytest.approx(stands.model, abs=2e-3)
            assert found.because.evidence == pytest.approx(stands.evidence, abs=2e-3)
            whole = stands.whole
            without = height_of(recommender, found.item_id, f"complement({rest})", stands).whole
            assert part.change == pytest.approx(whole - without, abs=2e-3)
            source, target = recommender.shelf.rows([item_id, found.item_id])
            assert part.bought_together == (target in recommender.shelf.bought.of(source))
        alone = {
            item_id: height_of(recommender, found.item_id, f"complement({item_id})", stands).whole for item_id in basket
        }
        gains = {item_id: max(0.0, part.change + alone[item_id]) for item_id, part in parts.items()}
        if sum(gains.values()) > 1e-2:
            for item_id, part in parts.items():
                assert part.share == pytest.approx(gains[item_id] / sum(gains.values()), abs=1e-2)


def test_where_one_item_of_two_has_evidence_it_is_that_of_one_alone(recommender, ids):
    shelf, seen = recommender.shelf, 0.0
    for first, second in zip(ids[:20], ids[20:40], strict=True):
        asked = look_up(Request(query=parse(f"complement({first}) & substitute({second})")), shelf)
        (branch,) = asked.branches
        for found in recommender.recommend(query=asked.query, top_k=5):
            rows = torch.tensor([shelf.rows([found.item_id])])
            amount = shelf.model.evidence.of(torch.tensor([shelf.rows([first])])).at(rows)
            heights = shelf.index.heights(shelf.reason([branch.meeting]).of([branch.meeting]), branch.relation, rows)
            assert found.because.evidence == pytest.approx(float(amount / heights.deviation), abs=1e-3)
            seen += abs(float(amount))
    assert seen > 0


def test_the_parts_of_a_pair_add_up_to_how_high_the_item_stands(recommender, ids):
    for found in recommender.recommend(ids[:2], 5):
        stands = height_of(recommender, found.item_id, f"complement({ids[0]} & {ids[1]})")
        whole = stands.whole
        alone = [
            height_of(recommender, found.item_id, f"complement({part.item_id})", stands).whole
            for part in found.because.contributions
        ]
        parts = [(part.change + own) / 2 for part, own in zip(found.because.contributions, alone, strict=True)]
        assert sum(parts) == pytest.approx(whole, abs=5e-3)


def test_each_not_is_measured_by_asking_without_it(recommender, ids):
    item = ids[0]
    answer = recommender.recommend([item], 5)
    for found in answer:
        (negation,) = found.because.negations
        assert negation.query == f"~substitute({item})"
        stands = height_of(recommender, found.item_id, f"complement({item}) & ~substitute({item})")
        without = height_of(recommender, found.item_id, f"complement({item})", stands)
        assert without.evidence == stands.evidence  # which is the same without the NOT, and no reason for it
        assert negation.change == pytest.approx(stands.whole - without.whole, abs=2e-3)
        assert [part.share for part in found.because.contributions] == [1]
    shown = {one.item_id for one in answer}
    soft = [gone.item_id for gone in answer.removed if not gone.known]
    asked_plainly = [one.item_id for one in recommender.recommend(query=complement([item]), top_k=5)]
    assert set(soft) == set(asked_plainly) - shown


def test_either_or_has_the_surest_of_both(recommender, ids):
    queries = [complement([ids[0]]), complement([ids[1]])]
    both = recommender.recommend(query=any_of(queries), top_k=5, without_substitutes=False)
    sure: dict[str, float] = {}
    for query in queries:
        # Named in the basket too, so that it is neither recommended nor takes probability, as in the whole query.
        for one in recommender.recommend(ids[:2], 5, query, without_substitutes=False):
            sure[one.item_id] = max(one.confidence, sure.get(one.item_id, 0))
    for found in both:
        assert found.confidence == pytest.approx(sure[found.item_id], abs=1e-9)
    assert [one.confidence for one in both] == pytest.approx(sorted(sure.values(), reverse=True)[:5], abs=1e-9)


def test_confidence_rises_with_the_score_and_is_one_for_what_is_known(recommender, ids):
    for basket in ([ids[0]], ids[:2]):
        answer = recommender.recommend(basket, 30, without_substitutes=False)
        shelf, members = recommender.shelf, recommender.shelf.rows(basket)
        known = set.intersection(*(set(shelf.bought.of(row)) for row in members))
        if len(basket) == 1:  # whose substitutes are not asked for
            known -= set(shelf.substitutes(members))
        rows = recommender.shelf.rows(one.item_id for one in answer)
        wrong = set(shelf.substitutes(members)) if len(basket) == 1 else set()
        learnt = [one.confidence for one, row in zip(answer, rows, strict=True) if row not in known | wrong]
        assert all(one.confidence == 0 for one, row in zip(answer, rows, strict=True) if row in wrong)
        assert all(a >= b for a, b in pairwise(learnt))
        assert all(0 <= one.confidence <= 1 and one.uncertainty > 0 for one in answer)
        assert all(one.confidence == 1 for one, row in zip(answer, rows, strict=True) if row in known)


def test_substitutes_that_are_asked_for_are_not_hidden_and_complements_are_not_sure(recommender, ids):
    shelf = recommender.shelf
    item = next(item for item in ids if len(shelf.substitutes(shelf.rows([item]))) > 2)
    known = {shelf.vocabulary.item_ids[row] for row in shelf.substitutes(shelf.rows([item]))}
    for basket in ([], [item]):
        answer = recommender.recommend(basket, 10**6, parse(f"substitute({item})"), explain=False)
        found = {one.item_id: one.confidence for one in answer}
        assert known <= found.keys()
        assert {name for name, sure in found.items() if sure == 1} == known == set(list(found)[: len(known)])
        assert not recommender.recommend(basket, query=parse(f"substitute({item})")).removed
    other = next(other for other in ids if other not in known and other != item)
    mixed = recommender.recommend(query=parse(f"complement({other}) & substitute({item})"), top_k=10**6, explain=False)
    assert not {one.item_id for one in mixed} & {
        shelf.vocabulary.item_ids[row] for row in shelf.substitutes(shelf.rows([other]))
    }


def test_what_is_known_not_to_be_wanted_is_not_sure(recommender, ids):
    bought = {item: set(recommender.shelf.bought.of(recommender.shelf.rows([item])[0])) for item in ids[:40]}
    pairs = ((a, b) for a in bought for b in bought if bought[a] & bought[b] and bought[a] - bought[b])
    one, other = next(pairs)
    found = all_items(recommender, [], query=parse(f"complement({one}) & ~complement({other})"))
    sure = {one.item_id for one in found if one.confidence == 1}
    assert set(recommender.shelf.rows(sorted(sure))) == bought[one] - bought[other] - {*recommender.shelf.rows([other])}


@pytest.mark.parametrize("relation", ["complement", "substitute"])
def test_what_links_say_a_not_is_about_is_left_out_and_said_to_be(recommender, ids, relation):
    shelf, removed = recommender.shelf, 0
    for wanted, other in zip(ids[:30], ids[30:60], strict=True):
        query = parse(f"complement({wanted}) & ~{relation}({other})")
        (row,) = shelf.rows([other])
        about = set(shelf.bought.of(row)) if relation == "complement" else set(shelf.substitutes([row]))
        about = {shelf.vocabulary.item_ids[one] for one in about}
        answer = recommender.recommend(query=query, top_k=20)
        assert not about & {one.item_id for one in answer}
        assert {gone.item_id for gone in answer.removed if gone.known and gone.by != f"~substitute({wanted})"} <= about
        removed += sum(gone.known and gone.item_id in about for gone in answer.removed)
        shown = recommender.recommend(query=query, top_k=20, without_substitutes=False)  # the NOT is soft then
        assert all(one.confidence == 0 for one in shown if one.item_id in about)
        assert not any(gone.known for gone in shown.removed)
    assert removed > 0


def test_a_query_is_read_as_if_unknown_items_had_not_been_there(recommender, ids):
    item = ids[0]
    with pytest.raises(UnknownItems):
        recommender.recommend(query=parse(f"complement({item} & NOPE) & ~complement({item})"))
    twice = look_up(Request(query=parse(f"complement({item} & NOPE) | complement({item})")), recommender.shelf)
    assert len(twice.branches) == 1


def test_a_batch_of_many_parts_is_answered_in_slices(recommender, ids, monkeypatch):
    requests = [Request([item], 5) for item in ids[:7]]
    whole = recommender.recommend_many(requests)
    monkeypatch.setattr("logirec.recommender.recommender.TABLE", 5 * recommender.shelf.items)
    sizes = []
    kept = recommender.shelf.scan
    monkeypatch.setattr(recommender.shelf, "scan", lambda *given: sizes.append(len(given[1])) or kept(*given))
    sliced = recommender.recommend_many(requests)
    assert sizes == [4, 4, 4, 2]  # each asked with and without its NOT
    for one, other in zip(whole, sliced, strict=True):
        assert [found.item_id for found in one] == [found.item_id for found in other]


def test_of_orders_nothing_is_sure_and_what_orders_hold_is_evidence(baskets, tmp_path):
    """There a later basket may hold a known pair or not, so that validation ranks known pairs with all others."""
    changes = {"model": {"dims": 16, "width": 32}, "training": {"max_steps": 60, "batch": 64}}
    train(baskets, tmp_path / "model", recipe("default", "hybrid", 0, changes))
    recommender = Recommender.load(tmp_path / "model")
    shelf, model = recommender.shelf, recommender.trained.model
    linked = [row for row in range(shelf.items) if len(shelf.bought.of(row)) > 3][:20]
    for row in linked:
        item = shelf.vocabulary.item_ids[row]
        answer = recommender.recommend([item], 20)
        assert len({one.confidence for one in answer}) > 1
        assert any(one.because.contributions[0].bought_together for one in answer)
        scores = Scorer(model).scores(ragged_of([[row]]))[0].double()
        curve = shelf.curve([row])
        scores[[row, *shelf.substitutes([row])]] = -torch.inf
        expected = curve.confidence(scores.numpy(), float((scores * curve.temperature).logsumexp(0)))
        for found in answer:
            assert found.confidence == pytest.approx(expected[shelf.rows([found.item_id])[0]], abs=1e-4)
        assert not answer.low_evidence
    starts = model.evidence.starts
    only_orders = [r for r in range(shelf.items) if starts[r] < starts[r + 1]]
    assert all(shelf.has_evidence([row]) for row in only_orders)


def test_what_lost_to_another_alternative_was_not_removed_by_a_not(recommender, ids):
    removed = 0
    for first, second in zip(ids[:200:2], ids[1:200:2], strict=True):
        alone = f"complement({first}) & ~substitute({first})"
        answer = recommender.recommend(query=parse(f"{alone} | complement({second})"))
        # Named in the basket too, so that it is not recommended, as in the whole query.
        mine = {one.item_id for one in recommender.recommend([second], query=parse(alone))}
        soft = {gone.item_id for gone in answer.removed if not gone.known}
        assert not soft & mine
        removed += len(soft)
    assert removed


def test_attention_is_that_of_the_query(recommender, ids):
    def attention(text):
        best = recommender.recommend(query=parse(text)).recommendations[0]
        return [part.attention for part in best.because.contributions]

    a, b = sorted(ids[:2])
    found = [attention(text.format(a, b)) for text in ("complement({} & {})", "complement({}) & complement({})")]
    assert all(sum(one) == pytest.approx(1, abs=1e-5) for one in found)
    assert found[0] != pytest.approx(found[1], abs=1e-4)
    thrice = attention(f"complement({a}) & complement({a} & {b}) & ~substitute({b})")
    assert len(thrice) == 2
    assert thrice[0] > found[0][0]  # it is asked for twice


def test_without_a_single_link_there_is_low_evidence(trained_folder, ids, recommender):
    trained = TrainedModel.load(trained_folder)
    nothing = {
        r: KnownLinks(np.zeros(len(trained.catalogue) + 1, dtype=np.int64), np.zeros(0, dtype=np.int32))
        for r in Relation
    }
    assert Recommender(replace(trained, links=nothing)).recommend(ids[:1]).low_evidence
    assert not recommender.recommend(ids[:1]).low_evidence


def test_without_curves_confidence_is_not_made_up(trained_folder, ids):
    trained = TrainedModel.load(trained_folder)
    found = Recommender(replace(trained, curves={})).recommend(ids[:2])
    assert found.recommendations
    assert all(one.confidence is None for one in found)


def test_a_pair_both_ways(recommender, ids):
    a, b = ids[:2]
    found = recommender.direction(a, b)
    assert found.forward == pytest.approx(score_of(recommender, b, f"complement({a}) & ~substitute({a})"), abs=1e-3)
    assert found.backward == pytest.approx(score_of(recommender, a, f"complement({b}) & ~substitute({b})"), abs=1e-3)
    assert found.forward != found.backward
    with pytest.raises(InputError, match="two different"):
        recommender.direction(a, a)
    with pytest.raises(UnknownItems):
        recommender.direction(a, "nothing")


def test_an_answer_is_json(recommender, ids):
    text = json.dumps(asdict(recommender.recommend(ids[:2])), allow_nan=False)
    assert json.loads(text)["recommendations"][0]["because"]["contributions"][0]["share"] >= 0


def test_a_bad_request_in_a_batch_spoils_only_itself(recommender, ids):
    good, bad = Request(ids[:2]), Request(["no such item"])
    first, error, second = recommender.attempt_many([good, bad, good])
    assert isinstance(error, UnknownItems)
    assert [one.item_id for one in first] == [one.item_id for one in second]
    assert [one.item_id for one in first] == [one.item_id for one in recommender.recommend(ids[:2])]
    assert recommender.attempt_many([]) == []
    with pytest.raises(UnknownItems):
        recommender.recommend_many([good, bad])


def test_an_error_in_a_batch_leaves_gradients_as_they_were(recommender, ids):
    """A generator that was left inside no_grad would keep them off until it is collected."""
    gc.disable()
    try:
        recommender.attempt_many([Request(ids[:1]), Request(["no such item"])])
        with pytest.raises(UnknownItems):
            recommender.recommend_many([Request(ids[:1]), Request(["no such item"])])
        assert torch.is_grad_enabled()
    finally:
        gc.enable()


def test_without_a_single_view_nobody_knows_what_a_substitute_is(trained_folder, ids):
    blind = TrainedModel.load(trained_folder)
    views = blind.links[Relation.CO_VIEW]
    none = KnownLinks(np.zeros_like(views.starts), views.targets[:0])
    found = Recommender(replace(blind, links={**blind.links, Relation.CO_VIEW: none}))
    with pytest.raises(InputError, match="product views"):
        found.recommend(query=f"substitute({ids[0]})")
    answer = found.recommend(ids[:1], top_k=50)
    assert answer.removed == ()
    assert all(one.because.negations == () for one in answer)
    kept = found.recommend(query=f"complement({ids[0]}) & ~complement({ids[1]})")
    assert all(len(one.because.negations) == 1 for one in kept)
