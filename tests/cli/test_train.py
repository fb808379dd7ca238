"""`logirec train` and `logirec evaluate` as a user calls them."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from logirec.config import PrepareConfig
from logirec.data.prepare import Inputs, prepare
from logirec.folders import sha256

SMALL = ("--set", "model.dims=8", "--set", "model.width=16", "--set", "training.validate_every=10", "--max-steps", "30")


@pytest.fixture(scope="module")
def model(leak_free, tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "model"
    command = [sys.executable, "-m", "logirec", "train", str(leak_free.folder), "--out", str(out), "--quiet", *SMALL]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return out


def test_evaluate_prints_the_promised_keys(cli, model, leak_free):
    result = cli("evaluate", model, leak_free.folder, "--json", "--quiet", "--asymmetry")
    assert result.code == 0
    assert result.err == ""
    for kind in ("low", "high"):
        for ranking in ("filtered", "raw"):
            found = result.json[kind][ranking]
            assert {"hit@3", "ndcg@3", "ndcg_paper@3", "mrr", "hit@10", "queries"} <= found.keys()
            assert 0 < found["mrr"] <= 1
            assert found["queries"] == len(leak_free.queries("test", kind))
    assert 0 <= result.json["asymmetry"]["degree"] <= 1


def test_evaluate_as_a_table(cli, model, leak_free):
    result = cli("evaluate", model, leak_free.folder, "--stage", "valid", "--max-queries", 50)
    assert result.code == 0
    assert "filtered" in result.out
    assert "popularity" in result.out
    assert "ranking: done" in result.err


def test_train_prints_json_and_nothing_else(cli, leak_free, tmp_path):
    result = cli("train", leak_free.folder, "--out", tmp_path / "m", "--json", "--tensorboard", *SMALL)
    assert result.code == 0
    assert result.json["steps"] == 30
    assert "training: done" in result.err
    assert list((tmp_path / "m.training" / "tensorboard").iterdir())


def no_sets(tmp_path):
    """Links without a triangle: no set of items has an answer."""
    lines = ["source,target,relation"]
    lines += [f"a{i},b{i}{j},also_buy" for i in range(30) for j in range(8)]
    (tmp_path / "links.csv").write_text("\n".join(lines) + "\n")
    prepare(Inputs(tmp_path / "links.csv", format="links"), tmp_path / "dataset", PrepareConfig())
    return tmp_path / "dataset"


def test_a_dataset_without_sets(cli, tmp_path):
    dataset = no_sets(tmp_path)
    result = cli("train", dataset, "--out", tmp_path / "m", "--variant", "high", *SMALL)
    assert result.code == 3
    assert "no high queries" in result.err
    assert "--variant" in result.err
    assert not (tmp_path / "m").exists()
    assert cli("train", dataset, "--out", tmp_path / "m", "--quiet", *SMALL).code == 0  # hybrid learns what there is
    result = cli("evaluate", tmp_path / "m", dataset, "--json", "--quiet")
    assert result.code == 0
    assert result.json["high"] == {}
    assert cli("evaluate", tmp_path / "m", dataset, "--quiet").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--preset", "nope"], 2, "preset: Input should be 'paper', 'default', 'best' or 'raw' (got 'nope')"),
        (["--variant", "nope"], 2, "variant: Input should be 'low', 'high' or 'hybrid' (got 'nope')"),
        (["--max-steps", "0"], 2, "training.max_steps"),
        (["--seed", "-1"], 2, "seed"),
        (["--set", "model.dimz=3"], 2, "model.dimz"),
        (["--set", "rooms.dims=3"], 2, "rooms"),
        (["--set", "dims"], 2, "model.NAME=VALUE"),
        (["--set", "model.dims=many"], 2, "model.dims"),
        (["--device", "tpu"], 2, "--device tpu"),
        (["--resume"], 2, "no earlier run"),
        (["--out", "."], 2, "the folder you are in"),
        (["--checkpoint-seconds", "-1"], 2, "checkpoint-seconds"),
        (["--set", "training.learning_rate=10", "--set", "model.layers=12", "--max-steps", "300"], 3, "no number"),
    ],
)
def test_bad_options_are_one_line(cli, leak_free, tmp_path, arguments, code, says):
    result = cli("train", leak_free.folder, "--out", tmp_path / "m", "--quiet", *arguments)
    assert result.code == code
    assert says in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "m").exists()


def test_wrong_folders_are_one_line(cli, model, leak_free, paper, tmp_path):
    for arguments, code, says in (
        (["train", tmp_path / "nothing", "--out", tmp_path / "m"], 4, "not a dataset folder"),
        (["train", model, "--out", tmp_path / "m"], 4, "a model folder, where a dataset is needed"),
        (["evaluate", leak_free.folder, leak_free.folder], 4, "a dataset folder, where a model is needed"),
        (["evaluate", model, model], 4, "where a dataset is needed"),
        (["evaluate", model, leak_free.folder, "--stage", "train"], 2, "--stage train"),
    ):
        result = cli(*arguments, "--quiet")
        assert (result.code, result.err.count("\n")) == (code, 1)
        assert says in result.err
    weights = model / "weights.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1])
    try:
        result = cli("evaluate", model, leak_free.folder, "--quiet")
    finally:
        weights.write_bytes(content)
    assert result.code == 4
    assert "weights.safetensors is not what was written" in result.err


def test_a_model_of_other_items_is_not_evaluated(cli, model, tmp_path):
    result = cli("evaluate", model, no_sets(tmp_path), "--quiet")
    assert result.code == 3
    assert "its items are not those" in result.err


def test_another_split_of_the_same_items_is_said(cli, model, shop, leak_free, tmp_path):
    prepare(Inputs(shop.products), tmp_path / "other", PrepareConfig(seed=9))
    result = cli("evaluate", model, tmp_path / "other", "--json", "--quiet")
    assert result.code == 0
    assert not result.json["trained_on_this_dataset"]
    assert "trained on another dataset" in cli("evaluate", model, tmp_path / "other", "--quiet").out
    assert cli("evaluate", model, leak_free.folder, "--json", "--quiet").json["trained_on_this_dataset"]


def test_out_of_memory_is_no_bug(cli, leak_free, tmp_path, monkeypatch):
    def full(*_):
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr("logirec.fit.new_stepper", full)
    result = cli("train", leak_free.folder, "--out", tmp_path / "m", "--quiet")
    assert result.code == 5
    assert "can't allocate memory" in result.err


def test_what_is_there_is_not_replaced_unasked(cli, model, leak_free, tmp_path):
    result = cli("train", leak_free.folder, "--out", model, *SMALL)
    assert result.code == 2
    assert "exists already" in result.err
    (tmp_path / "m.training").write_text("mine")
    result = cli("train", leak_free.folder, "--out", tmp_path / "m", "--force", *SMALL)
    assert result.code == 2
    assert (tmp_path / "m.training").read_text() == "mine"


# A process that is stopped ----------------------------------------------------------------------------------------


def start(dataset, out, *more):
    command = [sys.executable, "-m", "logirec", "train", str(dataset), "--out", str(out), "--quiet"]
    settings = ("--set", "model.dims=8", "--set", "training.validate_every=20", "--checkpoint-seconds", "0")
    return subprocess.Popen([*command, *settings, *more], stderr=subprocess.PIPE, text=True)


def state(out):
    newest = max((out.parent / f"{out.name}.training" / "checkpoints").glob("step-*"))
    return newest.name, sha256(newest / "state.safetensors"), sha256(out / "weights.safetensors")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_exits_with_130_and_a_checkpoint(leak_free, tmp_path, number):
    out = tmp_path / "m"
    process = start(leak_free.folder, out, "--max-steps", "100000", "--patience", "0")
    checkpoints = tmp_path / "m.training" / "checkpoints"
    for _ in range(600):
        if list(checkpoints.glob("step-*")):
            break
        time.sleep(0.1)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.count("\n") == 1
    assert "interrupted: checkpoint written at step" in errors
    assert list(checkpoints.glob("step-*"))
    assert not list(checkpoints.glob(".*"))
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twenty_kills_at_random_moments_change_nothing(leak_free, tmp_path):
    steps = ("--max-steps", "400", "--patience", "0")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    process = start(leak_free.folder, whole, *steps)
    assert process.wait(timeout=600) == 0
    process.stderr.close()
    chance = random.Random(7)
    checkpoints = tmp_path / "killed.training" / "checkpoints"

    def newest() -> int:
        return max((int(path.name[5:]) for path in checkpoints.glob("step-*")), default=0)

    moved = 0
    for kill in range(20):
        first = newest()
        begun = (tmp_path / "killed.training" / "run.json").exists()  # a slow machine may not have come so far
        process = start(leak_free.folder, killed, *steps, *(("--resume",) if begun else ("--force",)))
        if kill % 4:  # every fourth is killed wherever it is, most likely while starting
            for _ in range(600):
                if newest() > first:
                    break
                time.sleep(0.05)
            time.sleep(chance.random() * 0.5)
        else:
            time.sleep(2 + chance.random())
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()
        moved += newest() > first
        assert not killed.exists(), "it ended before it was killed often enough: give it more steps"
    assert moved >= 15
    process = start(leak_free.folder, killed, *steps, "--resume")
    assert process.wait(timeout=600) == 0
    process.stderr.close()
    assert state(killed) == state(whole)
    record = json.loads((killed / "metrics.json").read_text())
    assert record["steps"] == 400


def test_a_setting_that_is_none_is_named_with_what_was_meant(cli, tmp_path):
    result = cli(
        "train",
        tmp_path / "dataset",
        "--out",
        tmp_path / "out",
        "--set",
        "model.dim=64",
        "--set",
        "model.batch=1",
        "--set",
        "model.port=1",
    )
    assert result.code == 2
    assert "model.dim: no such setting; did you mean model.dims?" in result.err
    assert "model.batch: no such setting; did you mean training.batch?" in result.err
    assert "model.port: no such setting;" in result.err
