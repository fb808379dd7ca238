"""A model that has been chosen is told the rest of the data, and judged on nothing that it was told."""

import json
import shutil

import numpy as np
import pytest
import torch

from logirec import contenders
from logirec.baselines.base import members_last
from logirec.baselines.registry import BASELINES
from logirec.compare import CompareOptions, compare, finished
from logirec.config import recipe
from logirec.data.dataset import Dataset
from logirec.data.query_sets import KINDS
from logirec.errors import ArtifactError, UsageError
from logirec.evaluation.evaluate import evaluate, mean_mrr, questions
from logirec.evidence.gathering import again, gathered
from logirec.evidence.lookalikes import lookalikes
from logirec.fit import RunOptions, train
from logirec.folders import sha256
from logirec.index.scorer import Scorer
from logirec.lessons import new_stepper
from logirec.model.artifact import TrainedModel
from logirec.model.logirec import settle
from logirec.refit import refit
from logirec.relation import Relation
from logirec.reports.comparison import write_report
from tests.evidence.test_gathering import model_of, valid

SMALL = {"model": {"dims": 8, "width": 16}, "training": {"validate_every": 10, "max_steps": 30, "batch": 32}}


def small(until="train", **training):
    return recipe("default", "hybrid", 0, {**SMALL, "training": {**SMALL["training"], "refit": until, **training}})


@pytest.fixture(scope="module")
def plain(leak_free, tmp_path_factory):
    out = tmp_path_factory.mktemp("plain") / "model"
    return out, train(leak_free, out, small())


def pairs(links, relation=Relation.CO_PURCHASE):
    return set(zip(links[relation].source.tolist(), links[relation].target.tolist(), strict=True))


def known_pairs(folder):
    links = TrainedModel.load(folder).links[Relation.CO_PURCHASE]
    return set(zip(np.repeat(np.arange(len(links.starts) - 1), np.diff(links.starts)), links.targets, strict=True))


@pytest.mark.parametrize("stage", ["train", "valid", "test"])
def test_until_a_stage_its_links_are_training_links(leak_free, stage):
    for relation in Relation:
        assert pairs(leak_free.until(stage).graph().links, relation) == pairs(leak_free.graph(stage).links, relation)
    assert pairs(leak_free.until(stage).links("test")) == pairs(leak_free.links("test"))


def test_until_a_stage_its_orders_are_training_orders(baskets):
    before, told = baskets.baskets(), baskets.until("valid").baskets()
    asked = [baskets.queries("valid", kind) for kind in KINDS]
    assert len(told) == len(before) + sum(map(len, asked))
    assert np.array_equal(told.values[: len(before.values)], before.values)
    first = asked[0]
    assert set(told.list(len(before)).tolist()) == {*first.members.list(0).tolist(), *first.answers.list(0).tolist()}
    assert pairs(baskets.until("valid").graph().links) == pairs(baskets.graph().links)  # made from training orders
    assert np.array_equal(baskets.until("valid").lines().values, before.values)  # those of later ones are not known


@pytest.mark.parametrize("name", ["leak_free", "baskets", "cold_items"])
def test_evidence_made_again_of_the_same_data_is_the_same(request, name):
    dataset = request.getfixturevalue(name)
    found = gathered(model_of(dataset), dataset, valid(dataset, 60))
    for part, tensor in again(found, dataset).tensors().items():
        assert torch.equal(tensor, found.evidence.tensors()[part])


def test_a_model_told_nothing_new_is_the_model_that_it_was(leak_free):
    """Contexts made again from the same links."""
    model = new_stepper(leak_free, small(), torch.device("cpu")).model
    told = refit([model], leak_free, small(), None, None)
    for name, weights in settle(model).state_dict().items():
        assert torch.equal(told.state_dict()[name], weights)


def test_what_it_is_told_of_validation_helps_on_test(leak_free, plain, tmp_path):
    folder, before = plain
    metrics = train(leak_free, tmp_path / "told", small("valid"))
    assert known_pairs(tmp_path / "told") == pairs(leak_free.graph("valid").links)
    assert metrics["valid_mrr"] == before["valid_mrr"]  # chosen as ever
    assert metrics["evidence"] == before["evidence"]
    for kind in KINDS:
        assert metrics["test"][kind]["filtered"]["mrr"] > 1.02 * before["test"][kind]["filtered"]["mrr"]
    # The figures are of what is kept.
    scores = Scorer(TrainedModel.load(tmp_path / "told").model).scores
    found = json.loads(json.dumps(evaluate(scores, leak_free)))
    assert found["low"]["filtered"]["mrr"] == pytest.approx(metrics["test"]["low"]["filtered"]["mrr"], abs=1e-6)
    assert "told validation's links" in (tmp_path / "told" / "README.md").read_text()
    assert "told" not in (folder / "README.md").read_text()


def test_a_model_that_was_told_all_has_the_figures_from_before(leak_free, plain, tmp_path, cli):
    folder, before = plain
    told = tmp_path / "told"
    result = cli("train", leak_free.folder, "--out", told, "--refit", "--json", "--quiet", *_as_options())
    assert result.code == 0
    assert result.json["test"] == json.loads(json.dumps(before["test"]))
    assert known_pairs(told) == pairs(leak_free.graph("test").links)
    asked = {kind: questions(leak_free, "test", kind) for kind in KINDS}
    mrr = [
        mean_mrr(Scorer(TrainedModel.load(one).model).scores, asked["high"], leak_free.items) for one in (folder, told)
    ]
    assert mrr[1] > 1.1 * mrr[0]  # it looks them up
    for stage in ("valid", "test"):
        refused = cli("evaluate", told, leak_free.folder, "--stage", stage)
        assert refused.code == 3
        assert f"was told all links (training.refit): {stage} says nothing of it" in refused.err
    recommended = cli("recommend", told, "--basket", leak_free.vocabulary.item_ids[3], "--json")
    assert recommended.code == 0


def _as_options():
    for room, values in SMALL.items():
        for name, value in values.items():
            yield from ("--set", f"{room}.{name}={value}")


def test_a_run_that_has_ended_can_be_told_the_rest(leak_free, plain, tmp_path):
    folder, _ = plain
    told, resumed = tmp_path / "told", tmp_path / "resumed"
    train(leak_free, told, small("test"))
    shutil.copytree(folder.with_name("model.training"), tmp_path / "resumed.training")
    train(leak_free, resumed, small("test"), RunOptions(resume=True))
    for name in ("weights.safetensors", "evidence.safetensors", "links.safetensors"):
        assert sha256(told / name) == sha256(resumed / name)
        assert sha256(told / name) != sha256(folder / name)


def test_other_models_are_told_too(leak_free):
    models = [new_stepper(leak_free, small().of_member(member), torch.device("cpu")).model for member in (0, 1)]
    found = gathered(settle(models[0]), leak_free, valid(leak_free, 40), voices=[settle(models[1])])
    known = leak_free.until("valid")
    told = refit(models, known, small(members=2), None, found).evidence.tensors()
    rightly, wrongly = (
        again(found, known, None, [refit([models[1]], dataset, small(members=2).of_member(1), None, None)]).tensors()
        for dataset in (known, leak_free)
    )
    assert torch.equal(told["amounts"], rightly["amounts"])
    assert not torch.equal(rightly["amounts"], wrongly["amounts"])


def test_a_run_that_says_nonsense_of_it_is_refused(leak_free, plain, tmp_path):
    state = shutil.copytree(plain[0].with_name("model.training"), tmp_path / "model.training")
    record = json.loads((state / "run.json").read_text())
    record["recipe"]["training"]["refit"] = "soon"
    (state / "run.json").write_text(json.dumps(record))
    with pytest.raises(ArtifactError, match=r"run\.json: cannot be read"):
        train(leak_free, tmp_path / "model", small(), RunOptions(resume=True))


def test_what_was_new_to_training_and_is_linked_now_is_new_no_more(cold_items, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("logirec.refit.again", lambda *given: seen.append(given) or again(*given))
    train(cold_items, tmp_path / "told", small("valid"))
    linked = sorted({one for pair in pairs(cold_items.links("valid")) for one in pair})
    new = [np.diff(alike.indptr) > 0 for alike in (lookalikes(cold_items), seen[0][2])]
    assert new[0][linked].any()
    assert not new[1][linked].any()
    assert new[1].any()  # what only test links
    assert known_pairs(tmp_path / "told") == pairs(cold_items.graph("valid").links)


def test_resuming_does_not_take_back_what_a_run_is_to_be_told(leak_free, plain, tmp_path):
    shutil.copytree(plain[0].with_name("model.training"), tmp_path / "model.training")
    train(leak_free, tmp_path / "model", small("test"), RunOptions(resume=True))
    with pytest.raises(UsageError, match=r"has training\.refit=test; name it again"):
        train(leak_free, tmp_path / "model", small("valid"), RunOptions(resume=True))
    assert TrainedModel.load(tmp_path / "model").metrics["refit"] == "test"


def test_a_model_that_only_learns_can_be_told_nothing():
    with pytest.raises(UsageError, match=r"^training\.refit makes contexts and evidence anew, and .* are off$"):
        recipe("paper", "hybrid", 0, {"training": {"refit": "test"}})


def test_in_a_comparison_nothing_is_fitted_to_what_all_were_told(leak_free, tmp_path, monkeypatch):
    """The degree of asymmetry is taken at the temperature that fits some queries best."""
    dataset = Dataset.load(shutil.copytree(leak_free.folder, tmp_path / "dataset"))
    asked = []
    monkeypatch.setattr("logirec.compare.asymmetry", lambda scores, items, some, pairwise: asked.append(some) or {})
    for told in (False, True):
        compare(dataset, CompareOptions(("lookup",), refit=told))
    expected = [questions(dataset, stage, "low", most).queries for stage, most in (("valid", 1_000), ("test", 5_000))]
    for found, wanted in zip(asked, expected, strict=True):
        assert np.array_equal(found.queries.answers.values, wanted.answers.values)


def test_in_a_comparison_all_are_told_the_same(leak_free, tmp_path, monkeypatch):
    dataset = Dataset.load(shutil.copytree(leak_free.folder, tmp_path / "dataset"))
    monkeypatch.setitem(contenders.LOGIREC, "logirec-default", ("small", lambda _: small()))
    models = ("row-cosine", "logirec-default", "logirec-paper-low")
    plain, told = (
        compare(dataset, CompareOptions(models[:2] if not refit else models, refit=refit)) for refit in (0, 1)
    )
    assert told["left_out"] == {"logirec-paper-low": "all that it knows is learnt: it can be told nothing"}
    assert told["refit"]
    chosen = told["models"]["row-cosine"]
    assert chosen["settings"] == plain["models"]["row-cosine"]["settings"]  # on validation, before it was told
    again = BASELINES["row-cosine"].make(chosen["settings"]).fit(dataset.until("valid"))
    expected = json.loads(json.dumps(evaluate(members_last(again.scores), dataset, "test", 5_000)))
    for kind in KINDS:
        assert chosen[kind]["filtered"]["mrr"] == expected[kind]["filtered"]["mrr"]
        for name in models[:2]:
            mrr = [found["models"][name][kind]["filtered"]["mrr"] for found in (plain, told)]
            assert mrr[1] > mrr[0]
    write_report(told | {"command": ""}, tmp_path / "report")
    assert "was told its links too" in (tmp_path / "report" / "report.md").read_text()
    assert finished(dataset, CompareOptions(refit=True)) == set(models[:2])
    kept = tmp_path / "dataset.compare-refit"
    assert {path.stem for path in kept.glob("*.json")} == set(models[:2])
