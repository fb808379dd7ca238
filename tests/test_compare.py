"""`logirec compare`: one protocol for all, nothing made twice, a report that stands alone."""

import gc
import json
import os
import re
import shutil
import signal
import weakref

import numpy as np
import pytest
import torch

from logirec import contenders
from logirec.baselines.base import members_last
from logirec.baselines.popularity import Popularity
from logirec.baselines.registry import BASELINES, Entry
from logirec.compare import CompareOptions, Match, compare
from logirec.config import recipe
from logirec.data.dataset import Dataset
from logirec.data.query_sets import KINDS
from logirec.errors import Diverged, InputError, Interrupted
from logirec.evaluation.evaluate import evaluate, mean_mrr, questions
from logirec.reports.comparison import write_report
from logirec.reports.tables import show_leaderboard
from logirec.training.step import Stepper

FAST = ("popularity", "lookup", "ease")
SMALL = {"model": {"dims": 8, "width": 16}, "training": {"validate_every": 10, "max_steps": 30, "batch": 32}}


@pytest.fixture
def dataset(leak_free, tmp_path) -> Dataset:
    """Its own folder, since results go beside it."""
    return Dataset.load(shutil.copytree(leak_free.folder, tmp_path / "dataset"))


@pytest.fixture
def small_logirec(monkeypatch):
    monkeypatch.setitem(
        contenders.LOGIREC, "logirec-default", ("small", lambda seed: recipe("default", "hybrid", seed, SMALL))
    )


class FittedAgain(BaseException):
    """No failure of a model's own, which the others would outlive."""


def no_fitting(monkeypatch):
    def refuse(self, settings, device, seed):
        raise FittedAgain

    monkeypatch.setattr(Entry, "make", refuse)


def test_figures_are_those_of_evaluate(dataset):
    found = compare(dataset, CompareOptions(("popularity",), max_queries=10**6))["models"]["popularity"]
    model = BASELINES["popularity"].make({}, "cpu").fit(dataset)
    expected = json.loads(json.dumps(evaluate(members_last(model.scores), dataset)))
    for kind in ("low", "high"):
        assert found[kind] == expected[kind]
    assert found["fit_seconds"] >= 0
    assert found["scoring_ms_per_query"] > 0
    assert found["memory_mb"] is None or found["memory_mb"] >= 0


def test_the_settings_best_on_validation_are_chosen(dataset):
    found = compare(dataset, CompareOptions(("row-cosine",)))["models"]["row-cosine"]
    entry = BASELINES["row-cosine"]
    expected = []
    for settings in entry.tried:
        model = entry.make(settings).fit(dataset)
        mrr = {kind: mean_mrr(model.scores, questions(dataset, "valid", kind, 1000), dataset.items) for kind in KINDS}
        expected.append((mrr["low"] * mrr["high"]) ** 0.5)
    assert [tried["valid_mrr"] for tried in found["tried"]] == pytest.approx(expected)
    assert found["settings"] == entry.tried[int(np.argmax(expected))]


@pytest.mark.parametrize("how", ["released", "no validation"])
def test_nothing_is_chosen_where_validation_cannot_be_trusted(dataset, monkeypatch, how):
    """The released data's validation links are training links."""
    if how == "released":
        dataset.manifest["protocol"] = "released"
    else:
        monkeypatch.setattr(Match, "_questions", without_validation(Match._questions))
    found = compare(dataset, CompareOptions(("ease",)))["models"]["ease"]
    assert [tried["settings"] for tried in found["tried"]] == [BASELINES["ease"].tried[0]]
    assert found["low"]["filtered"]["mrr"] > 0


def without_validation(ask):
    return lambda self, stage, most: {} if stage == "valid" else ask(self, stage, most)


def test_a_finished_model_is_not_made_again(dataset, monkeypatch):
    first = compare(dataset, CompareOptions(FAST))
    with monkeypatch.context() as patch:
        no_fitting(patch)
        assert compare(dataset, CompareOptions(FAST)) == first
        for changed in ({"seed": 1}, {"max_queries": 10}, {"force": True}):
            with pytest.raises(FittedAgain):
                compare(dataset, CompareOptions(FAST, **changed))
    work = dataset.folder.with_name("dataset.compare")
    (work / "ease.json").write_text("{ cut short")
    with monkeypatch.context() as patch:
        no_fitting(patch)
        with pytest.raises(FittedAgain):
            compare(dataset, CompareOptions(FAST))
    again = compare(dataset, CompareOptions(FAST))
    assert again["models"]["ease"]["low"] == first["models"]["ease"]["low"]


def test_differences_are_paired_with_the_best_baseline(dataset):
    result = compare(dataset, CompareOptions(FAST))
    work = dataset.folder.with_name("dataset.compare")
    for kind in ("low", "high"):
        paired = result["against_best_baseline"][kind]["filtered"]["mrr"]
        means = {name: result["models"][name][kind]["filtered"]["mrr"] for name in FAST}
        best = max(means, key=means.get)
        assert paired["best"] == best
        assert paired["differences"][best] == {"difference": 0, "interval": [0, 0]}
        for name in FAST:
            low, high = paired["differences"][name]["interval"]
            difference = paired["differences"][name]["difference"]
            assert difference == pytest.approx(means[name] - means[best], abs=1e-6)
            assert low <= difference <= high
        with np.load(work / "ease.npz") as values:
            assert values[f"{kind}.filtered.mrr"].mean() == pytest.approx(means["ease"], abs=1e-6)


def interrupted_at(monkeypatch, last):
    """Ctrl-C before step `last`; the steps taken."""
    take, taken = Stepper.take, []

    def counted(self, step):
        taken.append(step)
        take(self, step)
        if step == last:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Stepper, "take", counted)
    return taken


def test_logirec_takes_part_and_goes_on_after_an_interruption(dataset, small_logirec, monkeypatch, tmp_path):
    elsewhere = Dataset.load(shutil.copytree(dataset.folder, tmp_path / "elsewhere"))
    both = CompareOptions(("popularity", "logirec-default"))
    whole = compare(elsewhere, both)
    with monkeypatch.context() as patch:
        interrupted_at(patch, 19)
        with pytest.raises(Interrupted, match="the same command goes on"):
            compare(dataset, both)
    with monkeypatch.context() as patch:
        taken = interrupted_at(patch, -1)
        result = compare(dataset, both)
        assert taken == list(range(20, 30))
    assert result["models"]["logirec-default"]["low"] == whole["models"]["logirec-default"]["low"]
    assert result["against_best_baseline"]["low"]["filtered"]["mrr"]["best"] == "popularity"


@pytest.mark.parametrize("changed", [{"seed": 1}, {"force": True}])
def test_another_seed_or_force_after_an_interruption_starts_over(dataset, small_logirec, monkeypatch, changed):
    with monkeypatch.context() as patch:
        interrupted_at(patch, 5)
        with pytest.raises(Interrupted):
            compare(dataset, CompareOptions(("logirec-default",)))
    taken = interrupted_at(monkeypatch, -1)
    compare(dataset, CompareOptions(("logirec-default",), **changed))
    assert taken == list(range(30))


def test_a_model_that_is_trained_is_only_ranked(dataset, small_logirec, monkeypatch):
    ours = CompareOptions(("logirec-default",))
    first = compare(dataset, ours)["models"]["logirec-default"]
    (dataset.folder.with_name("dataset.compare") / "logirec-default.json").unlink()
    taken = interrupted_at(monkeypatch, -1)
    again = compare(dataset, ours)["models"]["logirec-default"]
    assert taken == []
    assert (again["low"], again["fit_seconds"]) == (first["low"], first["fit_seconds"])


@pytest.mark.parametrize("damage", ["cut", "other key", "gone"])
def test_damaged_figures_are_made_again(dataset, damage):
    whole = compare(dataset, CompareOptions(FAST))
    values = dataset.folder.with_name("dataset.compare") / "lookup.npz"
    if damage == "cut":
        values.write_bytes(values.read_bytes()[:100])
    elif damage == "gone":
        values.unlink()
    else:
        np.savez_compressed(values, key=np.array("another"))
    again = compare(dataset, CompareOptions(FAST))
    assert again["against_best_baseline"] == whole["against_best_baseline"]


def test_one_that_cannot_be_trained_does_not_stop_the_others(dataset, monkeypatch):
    def diverged(self, dataset):
        raise Diverged("the loss is no number any more")

    monkeypatch.setattr("logirec.baselines.lookup.Lookup.fit", diverged)
    result = compare(dataset, CompareOptions(("lookup", "popularity")))
    assert set(result["models"]) == {"popularity"}
    assert result["left_out"] == {"lookup": "the loss is no number any more"}


@pytest.mark.parametrize("empty", [np.empty, torch.empty])
def test_one_that_is_too_large_does_not_stop_the_others(dataset, monkeypatch, empty):
    monkeypatch.setattr("logirec.baselines.lookup.Lookup.fit", lambda *_: empty((1 << 30, 1 << 25)))
    result = compare(dataset, CompareOptions(("lookup", "popularity")))
    assert set(result["models"]) == {"popularity"}
    assert result["left_out"] == {"lookup": "out of memory"}


def test_one_with_a_bug_does_not_stop_the_others(dataset, monkeypatch):
    monkeypatch.setattr("logirec.baselines.lookup.Lookup.fit", lambda *_: [][3])
    result = compare(dataset, CompareOptions(("lookup", "popularity")))
    assert set(result["models"]) == {"popularity"}
    assert result["left_out"] == {"lookup": "failed with IndexError: list index out of range"}
    with pytest.raises(InputError, match="IndexError") as alone:
        compare(dataset, CompareOptions(("lookup",)))
    assert isinstance(alone.value.__cause__, IndexError)  # which --debug shows


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        (lambda n: np.zeros((2, n)), "found ndarray"),
        (lambda n: torch.zeros(2, n - 1), "found (2, "),
        (lambda n: torch.zeros(n), "found ("),
        (lambda n: torch.zeros(2, n, dtype=torch.int64), "torch.int64"),
    ],
)
def test_scores_of_another_form_are_named(dataset, monkeypatch, scores, says):
    monkeypatch.setattr("logirec.baselines.lookup.Lookup.scores", lambda *_: scores(dataset.items))
    result = compare(dataset, CompareOptions(("lookup", "popularity"), force=True))
    assert says in result["left_out"]["lookup"]
    assert f"baskets by items: (2, {dataset.items})" in result["left_out"]["lookup"]


def test_a_fit_that_returns_nothing_is_named(dataset, monkeypatch):
    monkeypatch.setattr("logirec.baselines.lookup.Lookup.fit", lambda *_: None)
    with pytest.raises(InputError, match="the fitted model was to be returned"):
        compare(dataset, CompareOptions(("lookup",), force=True))


class Heavy:
    """What a model had made when it failed."""


def test_what_a_failed_one_had_made_is_let_go_before_the_others(dataset, monkeypatch):
    made = []

    def fails(self, dataset):
        heavy = Heavy()
        made.append(weakref.ref(heavy))
        raise ValueError

    def fit(self, dataset):
        gc.collect()
        made.append(made[0]())
        return popularity(self, dataset)

    popularity = Popularity.fit
    monkeypatch.setattr("logirec.baselines.lookup.Lookup.fit", fails)
    monkeypatch.setattr(Popularity, "fit", fit)
    compare(dataset, CompareOptions(("lookup", "popularity"), force=True))
    assert made[1:] == [None]


def test_a_full_disk_ends_it(dataset, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("logirec.results.Results.save", full)
    with pytest.raises(OSError, match="No space"):
        compare(dataset, CompareOptions(("lookup", "popularity"), force=True))


def test_one_kind_of_query_alone(dataset, monkeypatch, tmp_path):
    ask = Match._questions
    monkeypatch.setattr(Match, "_questions", lambda self, stage, most: {"low": ask(self, stage, most)["low"]})
    result = compare(dataset, CompareOptions(FAST))
    assert "high" not in result["models"]["ease"]
    assert set(result["against_best_baseline"]) == {"low"}
    write_report({**result, "command": ""}, tmp_path / "report")
    show_leaderboard(result)


def test_without_test_queries_it_says_so(dataset, monkeypatch):
    monkeypatch.setattr(Match, "_questions", lambda self, stage, most: {})
    with pytest.raises(InputError, match="no test queries"):
        compare(dataset, CompareOptions(FAST))


def test_results_that_cannot_be_kept_are_known_before_the_work(cli, dataset):
    dataset.folder.with_name("dataset.compare").write_text("in the way")
    result = cli("compare", dataset.folder, "--models", "popularity", "--quiet")
    assert result.code == 2
    assert "cannot be kept" in result.err


def test_json_has_the_promised_keys_and_nothing_else_on_stdout(cli, dataset):
    result = cli("compare", dataset.folder, "--models", "popularity,lookup", "--json", "--quiet")
    assert result.code == 0
    assert result.err == ""
    for kind in ("low", "high"):
        for ranking in ("filtered", "raw"):
            for metric in ("hit@3", "ndcg@3", "mrr", "hit@10", "queries"):
                assert result.json["models"]["lookup"][kind][ranking][metric] >= 0


def test_on_a_terminal_there_is_a_leaderboard(cli, dataset):
    result = cli("compare", dataset.folder, "--models", "popularity,lookup")
    assert result.code == 0
    assert "the best baseline" in result.out
    assert "popularity" in result.out
    assert "lookup: ranking" in result.err


def test_models_can_be_listed(cli):
    assert "association rule" in cli("compare", "--list").out
    assert set(cli("compare", "--list", "--json").json) == set(contenders.NAMES)
    assert cli("compare").code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--models", "popularity,nonsense"], 2, "nonsense"),
        (["--models", "popularity", "--max-queries", "0"], 2, ""),
        (["--models", "popularity", "--device", "abacus"], 2, "abacus"),
        (["--models", "cf"], 3, "--interactions"),
        (["--models", " , "], 2, "no name in it"),
        (["--models", "popularity", "--seed", "99999999999999999999"], 2, "--seed"),
    ],
)
def test_bad_input_is_one_line(cli, dataset, arguments, code, words):
    result = cli("compare", dataset.folder, *arguments, "--quiet")
    assert result.code == code
    assert words in result.err
    assert result.out == ""
    if code == 3:
        assert len(result.err.splitlines()) == 1


def test_what_cannot_be_fitted_is_left_out_and_said(cli, dataset):
    result = cli("compare", dataset.folder, "--models", "popularity,cf,mf", "--quiet")
    assert result.code == 0
    assert re.search(r"cf: needs user interactions.*--interactions", " ".join(result.out.split()))
    assert "mf: needs user interactions" in result.out


def test_the_report_stands_alone(cli, dataset, tmp_path):
    folder = tmp_path / "report"
    assert cli("compare", dataset.folder, "--models", ",".join(FAST), "--report", folder, "--quiet").code == 0
    page = (folder / "report.html").read_text()
    assert not re.findall(r'(?:src|href)="(?!#)', page)  # nothing from elsewhere
    assert page.count("<svg") == 3
    text = (folder / "report.md").read_text()
    for name in FAST:
        assert f"<td>{name}</td>" in page
        assert f"| {name} |" in text
    assert "logirec compare" in text
    for drawing in re.findall(r"\((figures/\w+\.svg)\)", text):
        assert (folder / drawing).stat().st_size > 1000
    value = json.loads((dataset.folder.with_name("dataset.compare") / "ease.json").read_text())["low"]["filtered"][
        "mrr"
    ]
    assert f"{value:.3f} (" in text
    assert cli("compare", dataset.folder, "--models", "lookup", "--report", folder, "--quiet").code == 0  # again


def test_a_report_goes_over_nothing_else(cli, dataset, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    for place in (tmp_path / "mine", tmp_path / "mine" / "thesis.txt", tmp_path / "mine" / "thesis.txt" / "in"):
        result = cli("compare", dataset.folder, "--models", "popularity", "--report", place, "--quiet")
        assert result.code == 2
    assert not dataset.folder.with_name("dataset.compare").exists()  # refused before the work


def test_without_a_gpu_the_paper_is_left_out_unless_named(monkeypatch):
    names, left_out = contenders.choose((), "cpu")
    assert "logirec-default" in names
    assert set(left_out) == set(contenders.SLOW) | set(contenders.SPECIAL)
    names, left_out = contenders.choose((), "cuda")
    assert set(names) == set(contenders.NAMES) - set(contenders.SPECIAL)
    assert set(left_out) == set(contenders.SPECIAL)
    assert contenders.choose(("betae", "betae"), "cpu") == (["betae"], {})
