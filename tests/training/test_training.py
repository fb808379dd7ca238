"""Whole training runs on a small shop: the same bytes however often they are interrupted."""

import json
import os
import signal

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from logirec import fit
from logirec.config import recipe
from logirec.errors import ArtifactError, Diverged, InputError, Interrupted, ResourceError, UsageError
from logirec.fit import RunOptions, train
from logirec.folders import sha256
from logirec.model import tensors
from logirec.model.artifact import TrainedModel
from logirec.training import checkpoint, trainer
from logirec.training.step import learning_rate

SMALL = {"model": {"dims": 8, "width": 16}, "training": {"validate_every": 10, "max_steps": 40, "patience": 0}}


def small(preset="default", variant="hybrid", seed=0, **training):
    """Without evidence, which comes after training and takes longer than these runs."""
    model = {"evidence": False} if preset == "default" else {"item_spread": 0.155}
    return recipe(
        preset,
        variant,
        seed,
        {"model": {**SMALL["model"], **model}, "training": {**SMALL["training"], "batch": 32, **training}},
    )


def history_of(out):
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def final_state(out):
    """Hash of the last checkpoint's tensors: weights, optimiser, best weights."""
    newest = max((out.parent / f"{out.name}.training" / "checkpoints").iterdir())
    return newest.name, sha256(newest / "state.safetensors")


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_training_lowers_the_loss_and_writes_a_model(leak_free, tmp_path, preset):
    out = tmp_path / "model"
    metrics = train(leak_free, out, small(preset, max_steps=60))
    history = history_of(out)
    assert [record["step"] for record in history] == [10, 20, 30, 40, 50, 60]
    assert history[-1]["loss"] < history[0]["loss"]
    assert metrics["steps"] == 60
    run = json.loads((out / "run.json").read_text())
    assert run["recipe"]["preset"] == preset
    assert run["dataset"]["sha256"] == sha256(leak_free.folder / "manifest.json")
    assert (out / "curves.png").read_bytes()[:4] == b"\x89PNG"
    assert "validation MRR" in (out / "README.md").read_text()
    trained = TrainedModel.load(out)
    assert trained.metrics["best_step"] == metrics["best_step"]
    assert trained.vocabulary.item_ids == leak_free.vocabulary.item_ids


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(leak_free, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(leak_free, tmp_path / name, small(seed=seed))
    hashes = {name: sha256(tmp_path / name / "weights.safetensors") for name in "abc"}
    assert hashes["a"] == hashes["b"] != hashes["c"]
    assert final_state(tmp_path / "a") == final_state(tmp_path / "b")


def interrupt_at(monkeypatch, steps, seed=0):
    """Ctrl-C in the middle of the given steps of the run with that seed."""
    take = fit.Stepper.take

    def taken(self, step):
        take(self, step)
        if step in steps and self.seed == seed:
            steps.remove(step)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(fit.Stepper, "take", taken)


def test_ctrl_c_writes_a_checkpoint_and_resuming_ends_with_the_same_bytes(leak_free, tmp_path, monkeypatch):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    before = signal.getsignal(signal.SIGINT)  # a shell's background job has it ignored
    train(leak_free, whole, small())
    interrupt_at(monkeypatch, {3, 9, 10, 27})
    for resume in (False, True, True, True):
        with pytest.raises(Interrupted, match="checkpoint written"):
            train(leak_free, parts, small(), RunOptions(resume=resume))
        assert not parts.exists()
    train(leak_free, parts, small(), RunOptions(resume=True))
    assert final_state(parts) == final_state(whole)
    assert sha256(parts / "weights.safetensors") == sha256(whole / "weights.safetensors")
    without_time = [
        [{k: v for k, v in record.items() if k != "seconds"} for record in history_of(out)] for out in (whole, parts)
    ]
    assert without_time[0] == without_time[1]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_that_ended_while_evidence_was_gathered_goes_on_from_there(leak_free, tmp_path, monkeypatch):
    chosen = small(patience=20)
    chosen = chosen.model_copy(update={"model": chosen.model.model_copy(update={"evidence": True})})
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(leak_free, whole, chosen)
    with monkeypatch.context() as patched:
        patched.setattr("logirec.fit.gathered_evidence", _killed)
        with pytest.raises(SystemExit):
            train(leak_free, parts, chosen)
    assert not parts.exists()
    train(leak_free, parts, chosen, RunOptions(resume=True))
    for name in ("weights.safetensors", "evidence.safetensors"):
        assert sha256(parts / name) == sha256(whole / name)


def _killed(*_):
    raise SystemExit


def test_members_are_trained_one_after_the_other_and_heard(leak_free, tmp_path, monkeypatch):
    def chosen(members):
        changes = {**SMALL["training"], "batch": 32, "members": members}
        return recipe("default", "hybrid", 3, {"model": {**SMALL["model"], "evidence": True}, "training": changes})

    alone, whole, parts = (tmp_path / name for name in ("alone", "whole", "parts"))
    train(leak_free, alone, chosen(1))
    metrics = train(leak_free, whole, chosen(2))
    other = tmp_path / "other"
    train(leak_free, other, chosen(1).model_copy(update={"seed": 4}))
    assert final_state(whole) == final_state(alone)
    assert sha256(whole / "weights.safetensors") == sha256(alone / "weights.safetensors")
    second = max((tmp_path / "whole.training" / "member-1" / "checkpoints").iterdir())
    assert sha256(second / "state.safetensors") == final_state(other)[1]
    assert sha256(whole / "evidence.safetensors") != sha256(alone / "evidence.safetensors")
    assert metrics["steps"] == 40
    interrupt_at(monkeypatch, {20}, seed=4)
    with pytest.raises(Interrupted):
        train(leak_free, parts, chosen(2))
    train(leak_free, parts, chosen(2), RunOptions(resume=True))
    for name in ("weights.safetensors", "evidence.safetensors"):
        assert sha256(parts / name) == sha256(whole / name)
    train(leak_free, parts, chosen(1), RunOptions(force=True))
    assert not list((tmp_path / "parts.training").glob("member-*"))


def test_members_without_evidence_are_refused():
    with pytest.raises(UsageError, match=r"training\.members .* model\.evidence is off"):
        recipe("default", "hybrid", 0, {"model": {"evidence": False}, "training": {"members": 2}})


@pytest.mark.parametrize("patience", [5, 25])
def test_resuming_stops_early_where_an_uninterrupted_run_does(leak_free, tmp_path, monkeypatch, patience):
    """Also when patience is no multiple of the steps between two looks at validation."""
    chosen = small(max_steps=200, patience=patience)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    metrics = train(leak_free, whole, chosen)
    assert metrics["stopped_early"]
    interrupt_at(monkeypatch, {16, metrics["steps"] - 2})
    for resume in (False, True):
        with pytest.raises(Interrupted):
            train(leak_free, parts, chosen, RunOptions(resume=resume))
    train(leak_free, parts, chosen, RunOptions(resume=True))
    assert final_state(parts) == final_state(whole)


def test_two_checkpoints_are_kept_and_a_damaged_one_is_passed_over(leak_free, tmp_path, monkeypatch):
    whole, out = tmp_path / "whole", tmp_path / "model"
    train(leak_free, whole, small())
    interrupt_at(monkeypatch, {25})
    with pytest.raises(Interrupted, match="checkpoint written"):
        train(leak_free, out, small(), RunOptions(checkpoint_seconds=0))
    folder = tmp_path / "model.training" / "checkpoints"
    assert sorted(path.name for path in folder.iterdir()) == ["step-000000025", "step-000000026"]
    with (folder / "step-000000026" / "state.safetensors").open("r+b") as file:
        file.seek(2000)
        file.write(b"damage")
    (folder / ".step-000000027.x.tmp").mkdir()  # what kill -9 leaves
    train(leak_free, out, small(), RunOptions(resume=True))
    assert final_state(out) == final_state(whole)
    assert not list(folder.glob(".*"))
    for path in folder.glob("step-*/state.json"):
        path.write_text("{}")
    with pytest.raises(ArtifactError, match="no sound checkpoint"):
        checkpoint.load(folder)


def test_early_stopping_keeps_the_best_weights(leak_free, tmp_path):
    out = tmp_path / "model"
    metrics = train(leak_free, out, small(max_steps=400, patience=20, learning_rate=0.05))
    history = history_of(out)
    best = max(history, key=lambda record: record["valid_mrr"])
    assert metrics["stopped_early"]
    assert metrics["best_step"] == best["step"] < metrics["steps"] < 400
    assert metrics["valid_mrr"] == best["valid_mrr"]
    # What was kept is what scored so.
    from logirec.evaluation.evaluate import mean_mrr, questions
    from logirec.index.scorer import Scorer

    scores = Scorer(TrainedModel.load(out).model).scores
    found = [
        mean_mrr(scores, questions(leak_free, "valid", kind, 1000, 0), leak_free.items) for kind in ("low", "high")
    ]
    assert (found[0] * found[1]) ** 0.5 == pytest.approx(best["valid_mrr"], abs=1e-6)


def test_a_finished_run_can_be_extended(leak_free, tmp_path):
    out = tmp_path / "model"
    train(leak_free, out, small(max_steps=10))
    metrics = train(leak_free, out, small(max_steps=30), RunOptions(resume=True))
    assert metrics["steps"] == 30


@pytest.mark.parametrize("variant", ["low", "high"])
def test_variants_learn_their_kind_alone(leak_free, tmp_path, variant):
    metrics = train(leak_free, tmp_path / "model", small(variant=variant))
    record = json.loads((tmp_path / "model" / "metrics.jsonl").read_text().splitlines()[0])
    other = {"low": "high", "high": "low"}[variant]
    assert f"valid_{variant}_mrr" in record
    assert metrics["not_validated"] == [other]
    assert f"valid_{other}_mrr" not in record


def test_catalogue_too_large_to_be_scored_whole(leak_free, tmp_path):
    for preset in ("default", "paper"):
        out = tmp_path / preset
        train(leak_free, out, small(preset, candidates=64, max_steps=120, learning_rate=0.005))
        history = history_of(out)
        assert history[-1]["loss"] < history[0]["loss"]


# What can go wrong ------------------------------------------------------------------------------------------------


def test_a_loss_that_is_no_number_stops_with_advice_and_loses_nothing(leak_free, tmp_path, monkeypatch):
    out = tmp_path / "model"
    take = fit.Stepper.take

    def taken(self, step):
        take(self, step)
        if step == 21:
            with torch.no_grad():
                self.model.raw_items.fill_(torch.nan)

    monkeypatch.setattr(fit.Stepper, "take", taken)
    with pytest.raises(Diverged, match=r"step 22; lower --set training.learning_rate"):
        train(leak_free, out, small(), RunOptions(checkpoint_seconds=0))
    monkeypatch.setattr(fit.Stepper, "take", take)
    saved = load_file(max((tmp_path / "model.training" / "checkpoints").iterdir()) / "state.safetensors")
    assert all(tensor.isfinite().all() for tensor in saved.values())
    assert not out.exists()
    assert train(leak_free, out, small(), RunOptions(resume=True))["steps"] == 40


def test_no_space_left_keeps_the_last_checkpoint(leak_free, tmp_path, monkeypatch):
    out = tmp_path / "model"
    save = checkpoint.write_tensors

    def full(state, path):
        if len(list((tmp_path / "model.training" / "checkpoints").glob("step-*"))) == 2:
            raise ResourceError("No space left on device")
        save(state, path)

    monkeypatch.setattr(checkpoint, "write_tensors", full)
    with pytest.raises(ResourceError, match="No space left"):
        train(leak_free, out, small(), RunOptions(checkpoint_seconds=0))
    monkeypatch.setattr(checkpoint, "write_tensors", save)
    train(leak_free, out, small(), RunOptions(resume=True))
    whole = tmp_path / "whole"
    train(leak_free, whole, small())
    assert final_state(out) == final_state(whole)


def test_only_a_model_is_replaced(leak_free, tmp_path):
    for name, content in (("web", '{"name": "my app"}'), ("data", (leak_free.folder / "manifest.json").read_text())):
        out = tmp_path / name
        out.mkdir()
        (out / "manifest.json").write_text(content)
        for options in (RunOptions(force=True), RunOptions(resume=True)):
            with pytest.raises(UsageError, match="no model folder"):
                train(leak_free, out, small(), options)
        assert (out / "manifest.json").read_text() == content
    with pytest.raises(UsageError, match="no model folder"):
        train(leak_free, leak_free.folder, small(), RunOptions(force=True))


def test_nothing_is_cleared_before_the_new_run_is_known_to_be_possible(leak_free, tmp_path, monkeypatch):
    out = tmp_path / "model"
    interrupt_at(monkeypatch, {5})
    with pytest.raises(Interrupted):
        train(leak_free, out, small())
    folder = tmp_path / "model.training"
    (folder / "thesis.txt").write_text("mine")
    monkeypatch.setattr(fit, "questions", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train(leak_free, out, small(), RunOptions(force=True))
    assert list((folder / "checkpoints").glob("step-*"))
    monkeypatch.undo()
    train(leak_free, out, small(max_steps=10), RunOptions(force=True))
    assert (folder / "thesis.txt").read_text() == "mine"


def test_run_json_survives_a_resume_that_fails(leak_free, tmp_path, monkeypatch):
    out = tmp_path / "model"
    interrupt_at(monkeypatch, {5})
    with pytest.raises(Interrupted):
        train(leak_free, out, small())
    with pytest.raises(UsageError, match="at step 6 already"):
        train(leak_free, out, small(max_steps=6), RunOptions(resume=True))
    run = tmp_path / "model.training" / "run.json"
    text = run.read_text()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("logirec.folders.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        train(leak_free, out, small(max_steps=50), RunOptions(resume=True))
    assert run.read_text() == text
    monkeypatch.undo()
    assert train(leak_free, out, small(), RunOptions(resume=True))["steps"] == 40
    run.write_text("{}")
    with pytest.raises(ArtifactError, match="cannot be read"):
        train(leak_free, out, small(), RunOptions(resume=True))


def test_a_full_disk_is_a_resource_error(tmp_path, monkeypatch):
    """safetensors says it in its own way: an error of its own, not an OSError."""

    def full(*_):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(tensors, "save_file", full)
    with pytest.raises(ResourceError, match="No space left"):
        tensors.write_tensors({"x": torch.zeros(3)}, tmp_path / "x.safetensors")


def test_what_does_not_fit_is_said_before_any_work(leak_free, paper, tmp_path):
    out = tmp_path / "model"
    train(leak_free, out, small())
    with pytest.raises(UsageError, match="exists already"):
        train(leak_free, out, small())
    with pytest.raises(UsageError, match=r"model\.dims, model\.evidence, seed differ"):
        train(
            leak_free,
            out,
            recipe(
                "default",
                "hybrid",
                9,
                {**SMALL, "model": {"dims": 9, "width": 16}, "training": {**SMALL["training"], "batch": 32}},
            ),
            RunOptions(resume=True),
        )
    with pytest.raises(InputError, match="another dataset"):
        train(paper, out, small(), RunOptions(resume=True))
    with pytest.raises(UsageError, match="no earlier run"):
        train(leak_free, tmp_path / "new", small(), RunOptions(resume=True))
    with pytest.raises(UsageError, match="--device tpu"):
        train(leak_free, tmp_path / "new", small(), RunOptions(device="tpu"))


def test_learning_rates():
    paper = recipe("paper", "hybrid", 0, {"training": {"max_steps": 100}}).training
    assert [learning_rate(paper, step) for step in (0, 49, 50, 74, 75, 99)] == pytest.approx(
        [1e-4, 1e-4, 2e-5, 2e-5, 4e-6, 4e-6]
    )
    ours = recipe(
        "default", "hybrid", 0, {"training": {"max_steps": 1000, "warm_up": 100, "learning_rate": 1}}
    ).training
    assert learning_rate(ours, 0) == pytest.approx(0.01)
    assert learning_rate(ours, 99) == pytest.approx(1)
    assert learning_rate(ours, 550) == pytest.approx(0.55)
    assert learning_rate(ours, 1000) == pytest.approx(0.1)
    assert trainer.LOOK_EVERY["cpu"] == 1
