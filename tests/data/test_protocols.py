"""The query sets of every protocol against the brute-force oracle, on the demo shop."""

import csv
from collections import Counter

import numpy as np
import pytest

from logirec.config import OrderRules, PrepareConfig
from logirec.data.dataset import Dataset
from logirec.data.prepare import Inputs, prepare
from logirec.data.query_sets import KINDS, STAGES
from logirec.data.seeded import mix
from logirec.relation import Relation
from tests.data import oracle
from tests.data.sources.test_ways_in import released_folder

BUY, VIEW = Relation.CO_PURCHASE, Relation.CO_VIEW


def pairs(links) -> set:
    return set(zip(links.source.tolist(), links.target.tolist(), strict=True))


def stage_links(dataset):
    return {stage: {relation: pairs(dataset.links(stage)[relation]) for relation in Relation} for stage in STAGES}


def as_dict(queries, size=None):
    """{members: ({answer: hardness}, {known})}; fails on a query or an answer that is listed twice."""
    out = {}
    hardness = np.split(queries.hardness, queries.answers.offsets[1:-1])
    for q in range(len(queries)):
        members = tuple(queries.members.list(q).tolist())
        answers = queries.answers.list(q).tolist()
        known = queries.known.list(q).tolist()
        assert len(answers) == len(set(answers))
        assert len(known) == len(set(known))
        if size in (None, len(members)):
            assert members not in out
            out[members] = (dict(zip(answers, hardness[q].tolist(), strict=True)), set(known))
    return out


def with_rows(dataset, links):
    row = {item: n for n, item in enumerate(dataset.vocabulary.item_ids)}
    return {(row[a], row[b]) for a, b in links}


class TestColdItems:
    def test_a_link_belongs_to_the_later_stage_of_its_items(self, shop, cold_items):
        raw = oracle.raw_links(shop.products)
        split = stage_links(cold_items)
        items = {s: {item for r in Relation for pair in split[s][r] for item in pair} for s in STAGES}
        warm = items["train"]
        in_valid, in_test = items["valid"] - warm, items["test"] - items["valid"] - warm
        count = cold_items.items
        assert len(in_valid) <= round(0.05 * count)  # some have links to those of test alone
        assert 0.04 * count <= len(in_test) <= 0.05 * count
        for relation, name in ((BUY, "buy"), (VIEW, "view")):
            everything = with_rows(cold_items, raw[name])
            assert set().union(*(split[s][relation] for s in STAGES)) == everything
            for pair in everything:
                later = "test" if in_test & {*pair} else "valid" if in_valid & {*pair} else "train"
                assert pair in split[later][relation]

    @pytest.mark.parametrize("stage", STAGES)
    def test_low(self, shop, cold_items, stage):
        split = stage_links(cold_items)
        earlier = set().union(*(split[s][BUY] for s in STAGES[: STAGES.index(stage)]))
        views = with_rows(cold_items, oracle.raw_links(shop.products)["view"])
        assert as_dict(cold_items.queries(stage, "low")) == oracle.low_queries(split[stage][BUY], earlier, views)


class TestLeakFree:
    def test_links_are_the_raw_ones_and_pairs_stay_together(self, shop, leak_free):
        raw = oracle.raw_links(shop.products)
        split = stage_links(leak_free)
        assert set().union(*(split[s][BUY] for s in STAGES)) == with_rows(leak_free, raw["buy"])
        assert split["train"][VIEW] == with_rows(leak_free, raw["view"])
        unordered = {s: {frozenset(p) for p in split[s][BUY]} for s in STAGES}
        assert not unordered["train"] & unordered["valid"]
        assert not unordered["train"] & unordered["test"]
        assert not unordered["valid"] & unordered["test"]
        total = sum(map(len, unordered.values()))
        assert [len(unordered[s]) for s in STAGES] == [
            round(0.7 * total), round(0.9 * total) - round(0.7 * total), total - round(0.9 * total),
        ]  # fmt: skip

    @pytest.mark.parametrize("stage", STAGES)
    def test_low(self, leak_free, stage):
        split = stage_links(leak_free)
        earlier = set().union(*(split[s][BUY] for s in STAGES[: STAGES.index(stage)]))
        expected = oracle.low_queries(split[stage][BUY], earlier, split["train"][VIEW])
        assert as_dict(leak_free.queries(stage, "low")) == expected

    @pytest.mark.parametrize("size", [2, 3, 4])
    @pytest.mark.parametrize("stage", STAGES)
    def test_high(self, leak_free, stage, size):
        split = stage_links(leak_free)
        train = stage == "train"
        known = set().union(*(split[s][BUY] for s in STAGES[: STAGES.index(stage) + train]))
        expected = oracle.high_queries(size, set() if train else split[stage][BUY], known, train)
        note = leak_free.manifest["notes"][f"{stage}-high"][f"size {size}"]
        assert not note["sampled"]
        assert as_dict(leak_free.queries(stage, "high"), size) == expected
        assert note["listed"] == len(expected) > 0

    def test_hide_views_holds_out_the_views_of_held_out_pairs(self, shop, tmp_path):
        prepare(Inputs(shop.products), tmp_path / "out", PrepareConfig(hide_views=True))
        dataset = Dataset.load(tmp_path / "out")
        split = stage_links(dataset)
        for stage in ("valid", "test"):
            unordered = {frozenset(p) for p in split[stage][BUY]}
            assert {frozenset(p) for p in split[stage][VIEW]} <= unordered
            assert split[stage][VIEW]
            assert not {frozenset(p) for p in split["train"][VIEW]} & unordered
        views = set().union(*(split[s][VIEW] for s in STAGES))
        assert views == with_rows(dataset, oracle.raw_links(shop.products)["view"])

    def test_too_many_are_sampled_and_it_is_written_down(self, shop, leak_free, tmp_path):
        config = PrepareConfig(basket_sizes=(2, 3, 5), max_queries=40)
        report = prepare(Inputs(shop.products), tmp_path / "out", config)
        sampled = Dataset.load(tmp_path / "out")
        split = stage_links(sampled)
        assert split == stage_links(leak_free)
        for stage in ("valid", "test"):
            assert report["notes"][f"{stage}-low"] == {
                "found": len(leak_free.queries(stage, "low")), "listed": 40, "sampled": True,
            }  # fmt: skip
            whole = as_dict(leak_free.queries(stage, "low"))
            part = as_dict(sampled.queries(stage, "low"))
            assert part == {members: whole[members] for members in part}
        assert len(sampled.queries("train", "low")) == len(leak_free.queries("train", "low"))
        for stage in STAGES:
            train = stage == "train"
            known = set().union(*(split[s][BUY] for s in STAGES[: STAGES.index(stage) + train]))
            for size in (2, 3, 5):
                found = as_dict(sampled.queries(stage, "high"), size)
                expected = oracle.high_queries(size, set() if train else split[stage][BUY], known, train)
                assert found == {members: expected[members] for members in found}
                note = report["notes"][f"{stage}-high"][f"size {size}"]
                assert note["listed"] == len(found) <= 40
                assert note["sampled"] or len(found) == len(expected)
        assert report["notes"]["test-high"]["size 2"]["listed"] == 40


def test_seeds_and_purposes_are_independent():
    """Neither another seed nor another purpose gives the same draw for other rows."""
    rows = np.arange(1000)
    draws = [mix(seed, purpose, rows) for seed in range(4) for purpose in ("split", "sample")]
    assert len(np.unique(np.concatenate(draws))) == 8000
    halves = np.array([draw >> np.uint64(63) for draw in draws]).astype(float)
    assert np.abs(np.corrcoef(halves) - np.eye(8)).max() < 0.15


def test_sampled_sets_are_as_likely_connected_in_a_ring_as_the_whole_list(tmp_path):
    """Sets that can be grown from more subsets (triangles) must not be drawn more often."""
    random = np.random.default_rng(0)
    links = {(a, b) for a, b in random.integers(50, size=(1200, 2)).tolist() if a != b}
    path = tmp_path / "links.csv"
    path.write_text("source,target\n" + "".join(f"{a:02d},{b:02d}\n" for a, b in sorted(links)))

    def triangles(limit):
        config = PrepareConfig(basket_sizes=(3,), max_queries=limit)
        prepare(Inputs(path), tmp_path / "out", config, force=True)
        dataset = Dataset.load(tmp_path / "out")
        known = pairs(dataset.links("train")[BUY])
        known |= {(b, a) for a, b in known}
        sets = dataset.queries("train", "high").members.values.reshape(-1, 3).tolist()
        return np.mean([(a, b) in known and (a, c) in known and (b, c) in known for a, b, c in sets]), len(sets)

    whole, count = triangles(100_000)
    part, sampled = triangles(700)
    assert count > 3000
    assert sampled == 700
    assert abs(part - whole) < 3.5 * np.sqrt(whole * (1 - whole) / sampled)


class TestPaper:
    def test_low_and_high_triplets_are_split_one_by_one(self, shop, paper):
        raw = oracle.raw_links(shop.products)
        buy, view = with_rows(paper, raw["buy"]), with_rows(paper, raw["view"])
        split = stage_links(paper)
        assert split["train"][BUY] | split["valid"][BUY] | split["test"][BUY] == buy
        expected = {
            "low": {((q,), a) for q, a in buy - view},
            "high": {
                (m, a) for m, (answers, _) in oracle.high_queries(2, set(), buy, train=True).items() for a in answers
            },
        }
        for kind in KINDS:
            found = {s: {(m, a) for m, (r, _) in as_dict(paper.queries(s, kind)).items() for a in r} for s in STAGES}
            assert found["train"] | found["valid"] | found["test"] == expected[kind]
            total = len(expected[kind])
            assert sum(map(len, found.values())) == total
            assert len(found["train"]) == round(0.7 * total)
            assert len(found["test"]) == total - round(0.9 * total)
            for stage in STAGES:
                earlier = set().union(*(found[s] for s in STAGES[: STAGES.index(stage)]))
                for members, (answers, known) in as_dict(paper.queries(stage, kind)).items():
                    assert known == {a for m, a in earlier if m == members}
                    for answer, hardness in answers.items():
                        assert hardness == sum((m, answer) not in split["train"][BUY] for m in members)

    def test_low_held_out_links_are_not_in_training_but_co_views_all_are(self, shop, paper):
        split = stage_links(paper)
        assert split["train"][VIEW] == with_rows(paper, oracle.raw_links(shop.products)["view"])
        for stage in ("valid", "test"):
            held_out = {(m[0], a) for m, (r, _) in as_dict(paper.queries(stage, "low")).items() for a in r}
            assert held_out == split[stage][BUY]


class TestReleased:
    def test_the_triplets_are_those_of_the_files(self, leak_free, tmp_path):
        """The demo shop in the authors' form: reversed high triplets, validation inside training."""
        split = stage_links(leak_free)
        names = dict(enumerate(leak_free.vocabulary.item_ids))
        low = {
            s: sorted((m[0], a) for m, (r, _) in as_dict(leak_free.queries(s, "low")).items() for a in r)
            for s in STAGES
        }
        high = {
            s: sorted((*m[::-1], a) for m, (r, _) in as_dict(leak_free.queries(s, "high"), 2).items() for a in r)
            for s in STAGES
        }
        buy = split["train"][BUY] | split["valid"][BUY]
        links = {0: buy, 1: {(b, a) for a, b in buy}, 2: split["train"][VIEW], 3: set()}
        released_folder(tmp_path / "theirs", names, links, low, high)
        prepare(Inputs(tmp_path / "theirs"), tmp_path / "out", PrepareConfig())
        dataset = Dataset.load(tmp_path / "out")
        row = {item: n for n, item in enumerate(dataset.vocabulary.item_ids)}
        number = {n: row[item] for n, item in names.items() if item in row}
        for stage in STAGES:
            for kind, triplets in (("low", low[stage]), ("high", high[stage])):
                expected = {(tuple(number[m] for m in t[:-1]), number[t[-1]]) for t in triplets}
                found = as_dict(dataset.queries(stage, kind))
                assert {(m, a) for m, (r, _) in found.items() for a in r} == expected
        theirs = stage_links(dataset)
        assert theirs["train"][BUY] == {(number[a], number[b]) for a, b in buy}
        assert theirs["valid"][BUY] == {(number[q], number[a]) for q, a in low["valid"]}
        assert stage_links(dataset.blind()) == theirs | {
            "train": theirs["train"] | {BUY: theirs["train"][BUY] - theirs["valid"][BUY]}
        }
        assert theirs["train"][BUY] & theirs["valid"][BUY]
        assert leak_free.blind() is leak_free
        train = theirs["train"][BUY]
        for members, (answers, _) in as_dict(dataset.queries("test", "high")).items():
            for answer, hardness in answers.items():
                assert hardness == sum((answer, m) not in train for m in members)


class TestBaskets:
    def test_split_is_by_time_and_links_come_from_training_orders_only(self, shop, baskets):
        orders = oracle.orders_of(shop.orders)  # written oldest first
        cut = round(0.7 * len(orders))
        expected = oracle.order_links([items for _, items in orders[:cut]], OrderRules())
        row = {item: n for n, item in enumerate(baskets.vocabulary.item_ids)}
        links = baskets.links("train")[BUY]
        found = {(s, t): w for s, t, w in zip(*(column.tolist() for column in links), strict=True)}
        assert set(found) == {(row[a], row[b]) for a, b in expected}
        for (a, b), chance in expected.items():
            assert found[row[a], row[b]] == pytest.approx(chance, rel=1e-6)
        assert baskets.manifest["notes"]["split"] == "temporal"
        assert set(baskets.vocabulary.item_ids) >= set().union(*(items for _, items in orders[:cut]))

    def test_training_baskets_are_the_training_orders(self, shop, baskets):
        orders = oracle.orders_of(shop.orders)
        lists = baskets.baskets()
        ids = baskets.vocabulary.item_ids
        found = [{ids[r] for r in lists.list(n)} for n in range(len(lists))]
        assert found == [items for _, items in orders[: round(0.7 * len(orders))]]

    @pytest.mark.parametrize(("stage", "start", "end"), [("valid", 0.7, 0.9), ("test", 0.9, 1.0)])
    def test_each_later_basket_hides_one_item(self, shop, baskets, stage, start, end):
        orders = oracle.orders_of(shop.orders)
        later = orders[round(start * len(orders)) : round(end * len(orders))]
        row = {item: n for n, item in enumerate(baskets.vocabulary.item_ids)}
        expected = Counter(frozenset(row[i] for i in items if i in row) for _, items in later)
        expected = Counter({basket: n for basket, n in expected.items() if len(basket) >= 2})
        found = Counter()
        train = pairs(baskets.links("train")[BUY])
        for kind in KINDS:
            queries = baskets.queries(stage, kind)
            assert (queries.answers.lengths == 1).all()
            assert ((queries.members.lengths == 1) == (kind == "low")).all()
            for q in range(len(queries)):
                members, answer = queries.members.list(q).tolist(), int(queries.answers.list(q)[0])
                assert answer not in members
                found[frozenset([*members, answer])] += 1
                assert queries.hardness[q] == sum((m, answer) not in train for m in members)
        assert found == expected

    def test_customers_of_training_orders_are_the_users(self, shop, baskets):
        with shop.orders.open() as file:
            rows = list(csv.DictReader(file))
        orders = [name for name, _ in oracle.orders_of(shop.orders)]
        training = set(orders[: round(0.7 * len(orders))])
        bought = {(r["customer_id"], r["item_id"], r["time"]) for r in rows if r["order_id"] in training}
        interactions = baskets.interactions()
        assert len(interactions["user"]) == len(bought)
        assert len(set(interactions["user"].tolist())) == len({customer for customer, _, _ in bought})
        assert (np.diff(interactions["time"]) >= 0).all()

    def test_training_queries_follow_the_rule(self, baskets):
        split = stage_links(baskets)
        assert as_dict(baskets.queries("train", "low")) == oracle.low_queries(
            split["train"][BUY], set(), split["train"][VIEW]
        )
        expected = oracle.high_queries(2, set(), split["train"][BUY], train=True)
        assert as_dict(baskets.queries("train", "high")) == expected

    def test_without_time_the_split_is_random_and_a_limit_is_kept_per_size(self, shop, tmp_path):
        with shop.orders.open() as file:
            rows = list(csv.DictReader(file))
        path = tmp_path / "orders.csv"
        path.write_text("order_id,item_id\n" + "".join(f"{r['order_id']},{r['item_id']}\n" for r in rows))
        report = prepare(Inputs(path), tmp_path / "out", PrepareConfig(protocol="baskets", max_queries=7))
        assert report["notes"]["split"] == "random"
        assert report["notes"]["test"]["sampled"]
        assert set(report["notes"]["test"]["listed_by_size"].values()) <= set(range(1, 8))
        orders = {frozenset(items) for _, items in oracle.orders_of(path)}
        dataset = Dataset.load(tmp_path / "out")
        ids, lists = dataset.vocabulary.item_ids, dataset.baskets()
        assert {frozenset(ids[r] for r in lists.list(n)) for n in range(len(lists))} < orders


@pytest.mark.parametrize("fixture", ["leak_free", "paper", "baskets"])
def test_known_and_members_are_never_answers(request, fixture):
    dataset = request.getfixturevalue(fixture)
    for stage in STAGES:
        for kind in KINDS:
            queries = dataset.queries(stage, kind)
            assert len(queries)
            for q in range(len(queries)):
                answers = set(queries.answers.list(q).tolist())
                assert answers
                assert not answers & set(queries.known.list(q).tolist())
                assert not answers & set(queries.members.list(q).tolist())
