"""A model folder: what goes in comes out, and anything wrong is refused."""

import json
import random
import shutil

import pytest
import torch

from logirec.config import recipe
from logirec.errors import ArtifactError
from logirec.model import artifact
from logirec.model.artifact import TrainedModel
from logirec.model.logirec import LogiRec

RECIPE = recipe("default", "hybrid", 3, {"model": {"dims": 4, "width": 8}})
IDS = [f"P{i:03d}" for i in range(30)]
TITLES = [f"Kettle [No. {i}] ☕" if i % 3 else None for i in range(30)]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    out = tmp_path_factory.mktemp("artifact") / "model"
    model = LogiRec(len(IDS), RECIPE.model, seed=3)
    artifact.save(out, dict(model.state_dict()), RECIPE, IDS, TITLES, {"test": {"low": {}}}, "# A model\n", "0f" * 32)
    return out


def test_what_is_saved_is_loaded(saved):
    loaded = TrainedModel.load(saved)
    assert loaded.recipe == RECIPE
    assert loaded.vocabulary.item_ids == tuple(IDS)
    assert loaded.titles == TITLES
    assert loaded.metrics == {"test": {"low": {}}}
    expected = LogiRec(len(IDS), RECIPE.model, seed=3)
    for mine, theirs in zip(loaded.model.parameters(), expected.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    weights = dict(LogiRec(len(IDS), RECIPE.model).state_dict())
    weights["raw_items"][3, 2] = torch.nan
    artifact.save(tmp_path / "model", weights, RECIPE, IDS, TITLES, {}, "", "0f")
    with pytest.raises(ArtifactError, match="no numbers"):
        TrainedModel.load(tmp_path / "model")


def test_whoever_may_read_the_folder_may_read_the_weights(saved):
    assert len({oct(path.stat().st_mode) for path in saved.iterdir()}) == 1


def test_folder_has_its_parts(saved):
    assert {path.name for path in saved.iterdir()} == {
        *("weights.safetensors", "vocabulary.json", "titles.json", "config.json", "metrics.json"),
        *("README.md", "manifest.json"),
    }


def damaged(saved, tmp_path, change):
    """A copy with one file changed at a random place."""
    copy = tmp_path / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(saved, copy)
    files = sorted(copy.iterdir())
    return copy, change(files)


def test_fifty_truncations_are_refused(saved, tmp_path):
    chance = random.Random(1)
    for _ in range(50):

        def cut(files):
            file = chance.choice(files)
            content = file.read_bytes()
            file.write_bytes(content[: chance.randrange(len(content))])
            return file

        copy, file = damaged(saved, tmp_path, cut)
        with pytest.raises(ArtifactError) as error:
            TrainedModel.load(copy)
        assert "\n" not in str(error.value), file


def test_two_hundred_flipped_bits_are_refused(saved, tmp_path):
    chance = random.Random(2)
    for _ in range(200):

        def flip(files):
            file = chance.choice(files)
            content = bytearray(file.read_bytes())
            at = chance.randrange(len(content))
            content[at] ^= 1 << chance.randrange(8)
            file.write_bytes(content)
            return file, at

        copy, where = damaged(saved, tmp_path, flip)
        with pytest.raises(ArtifactError) as error:
            TrainedModel.load(copy)
        assert "\n" not in str(error.value), where


def test_parts_that_do_not_fit_are_refused_even_with_a_right_manifest(saved, tmp_path):
    from logirec.folders import MANIFEST, write_manifest

    def rewritten(name, change):
        copy = tmp_path / name
        shutil.copytree(saved, copy)
        value = json.loads((copy / name).read_text())
        (copy / name).write_text(json.dumps(change(value)))
        (copy / MANIFEST).unlink()
        write_manifest(copy, artifact.KIND, artifact.SCHEMA, {"items": len(IDS), "dataset_sha256": "0f"})
        return copy

    changes = {
        "vocabulary.json": lambda ids: ids[:-1],
        "titles.json": lambda titles: [*titles, "one more"],
        "config.json": lambda config: {**config, "model": {**config["model"], "dims": 5}},
    }
    for name, change in changes.items():
        with pytest.raises(ArtifactError, match="do not fit together"):
            TrainedModel.load(rewritten(name, change))
    lacking = tmp_path / "lacking"
    shutil.copytree(saved, lacking)
    (lacking / MANIFEST).unlink()
    write_manifest(lacking, artifact.KIND, artifact.SCHEMA, {"items": len(IDS)})
    with pytest.raises(ArtifactError, match="do not fit together"):
        TrainedModel.load(lacking)


def test_another_schema_and_another_kind_are_refused(saved, tmp_path, monkeypatch, leak_free):
    with pytest.raises(ArtifactError, match="dataset folder"):
        TrainedModel.load(leak_free.folder)
    with pytest.raises(ArtifactError, match="not a model folder"):
        TrainedModel.load(tmp_path)
    monkeypatch.setattr(artifact, "SCHEMA", 99)
    with pytest.raises(ArtifactError, match="schema 2"):
        TrainedModel.load(saved)
