"""Training queries from orders: what is asked and what is answered are one order's, apart."""

import json

import numpy as np
import pytest

from logirec import fit
from logirec.config import PrepareConfig, recipe
from logirec.data.dataset import Dataset
from logirec.data.prepare import Inputs, prepare
from logirec.data.query_sets import Ragged
from logirec.evidence import gathering
from logirec.fit import train
from logirec.lessons import suited
from logirec.recommender.recommender import Recommender
from logirec.training.orders import SIZE_SHARES, order_queries


def orders(lists):
    offsets = np.cumsum([0, *map(len, lists)])
    return Ragged(offsets, np.array([item for one in lists for item in one], dtype=np.int32))


def test_members_and_answers_are_one_order_apart():
    lists = [[1, 4, 9], [2], [3, 5], [0, 1, 2, 3, 4, 5, 6, 7]]
    found = order_queries(orders(lists), 500, 0)
    whole = {tuple(one) for one in lists}
    for q in range(len(found)):
        members, answers = found.members.list(q).tolist(), found.answers.list(q).tolist()
        assert tuple(sorted(members + answers)) in whole
        assert 1 <= len(members) <= 5
        assert answers
        assert members == sorted(members)
    sizes = found.members.lengths[found.members.lengths + found.answers.lengths == 8]
    for size, share in SIZE_SHARES.items():
        assert abs((sizes == size).mean() - share) < 0.15
    assert {tuple(found.members.list(q)) for q in range(500) if len(found.answers.list(q)) == 1} >= {(3,), (5,)}


def test_the_same_seed_draws_the_same():
    made = orders([[1, 4, 9], [3, 5], [0, 1, 2, 3]])
    one, same, other = (order_queries(made, 50, seed) for seed in (1, 1, 2))
    assert one.members.values.tolist() == same.members.values.tolist()
    assert one.members.values.tolist() != other.members.values.tolist()


def test_orders_of_one_item_ask_nothing():
    assert len(order_queries(orders([[1], [2]]), 50, 0)) == 0


@pytest.mark.parametrize(("sizes", "missing"), [((3, 4), "low"), ((2, 2), "high")])
def test_baskets_of_a_size_that_validation_lacks_are_learnt_too(tmp_path, sizes, missing):
    """20 groups of 6 that are bought together; orders of 3 or 4 give no query of one item, orders of 2 no other."""
    draws, lines = np.random.default_rng(0), ["order_id,item_id"]
    for order in range(600):
        items = draws.choice(6, draws.integers(sizes[0], sizes[1] + 1), replace=False) + 6 * (order % 20)
        lines += [f"{order},i{item:03}" for item in items]
    (tmp_path / "orders.csv").write_text("\n".join(lines))
    prepare(Inputs(tmp_path / "orders.csv"), tmp_path / "data", PrepareConfig(protocol="baskets"))
    few = recipe("default", changes={"model": {"dims": 16, "width": 32}, "training": {"max_steps": 60}})
    metrics = train(Dataset.load(tmp_path / "data"), tmp_path / "model", few)
    assert metrics["not_validated"] == [missing]
    assert "is not known" in (tmp_path / "model" / "README.md").read_text()
    recommender, right = Recommender.load(tmp_path / "model"), 0
    for group in range(20):
        basket = [f"i{6 * group + n:03}" for n in range(1 if missing == "low" else 2)]
        found = recommender.recommend(basket, 3)
        right += sum(int(one.item_id[1:]) // 6 == group for one in found)
    assert right > 50  # of 60


def test_later_orders_may_be_larger_than_any_that_was_learnt_from(tmp_path):
    lines = ["order_id,item_id,time"]
    for order in range(100):
        items = range(2) if order < 70 else range(4)
        lines += [f"{order:03},i{(2 * order + n) % 12},2024-{1 + order // 28:02}-{1 + order % 28:02}" for n in items]
    (tmp_path / "orders.csv").write_text("\n".join(lines))
    prepare(Inputs(tmp_path / "orders.csv"), tmp_path / "data", PrepareConfig(protocol="baskets"))
    few = recipe("default", changes={"model": {"dims": 8, "width": 16}, "training": {"max_steps": 10}})
    assert train(Dataset.load(tmp_path / "data"), tmp_path / "model", few)["not_validated"] == ["low"]


def test_presets_learn_from_orders_as_orders_want_it():
    plain = recipe("default")
    wanted = plain.for_orders()
    assert wanted.training.max_steps > plain.training.max_steps
    assert wanted.training.weight_decay < plain.training.weight_decay
    assert wanted.for_orders() == wanted
    best = recipe("best").for_orders()
    assert best.model.dims > wanted.model.dims
    assert best.training.members == recipe("best").training.members


def test_what_was_asked_for_stays_with_orders():
    asked = recipe("best", changes={"model": {"dims": 64}, "training": {"max_steps": 2000, "weight_decay": 1.0}})
    wanted = asked.for_orders()
    assert wanted.model.dims == 64
    assert wanted.training.max_steps == 2000
    assert wanted.training.weight_decay == 1.0
    assert wanted.model.width == recipe("best").for_orders().model.width
    for preset in ("paper", "raw"):
        assert recipe(preset).for_orders() == recipe(preset)


def test_a_recipe_is_that_of_the_data(leak_free, baskets):
    plain = recipe("default")
    assert suited(plain, leak_free) == plain
    assert suited(plain, baskets) == plain.for_orders()
    from_links = recipe("default", changes={"training": {"orders": False}})
    assert suited(from_links, baskets) == from_links


def test_evidence_of_orders_is_weighed_on_more_queries_and_hears_the_model_itself(baskets, tmp_path, monkeypatch):
    seen = {}

    def gathered(model, dataset, asked, alike, voices, filtered):
        seen.update(queries={kind: len(some.queries) for kind, some in asked.items()}, model=model, voices=voices)
        return gathering.gathered(model, dataset, asked, alike, voices, filtered)

    monkeypatch.setattr(fit, "gathered_evidence", gathered)
    training = {"max_steps": 2, "validate_every": 1, "validate_queries": 10}
    few = recipe("default", changes={"model": {"dims": 4, "width": 8}, "training": training})
    train(baskets, tmp_path / "model", few)
    there = {kind: len(baskets.queries("valid", kind)) for kind in ("low", "high")}
    assert seen["queries"] == {kind: min(10 * fit.MORE_OF_ORDERS, count) for kind, count in there.items()}
    assert min(seen["queries"].values()) > 10
    assert [one is seen["model"] for one in seen["voices"]] == [True]
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["training"]["weight_decay"] == suited(few, baskets).training.weight_decay < 1
