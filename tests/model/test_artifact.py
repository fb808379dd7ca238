"""A model folder: what goes in comes out, and anything wrong is refused."""

import json
import random
import shutil

import numpy as np
import pytest
import torch

from logirec.config import recipe
from logirec.errors import ArtifactError
from logirec.model import artifact
from logirec.model.artifact import Parts, TrainedModel
from logirec.model.catalogue import Catalogue, KnownLinks
from logirec.model.evidence import Evidence
from logirec.model.logirec import LogiRec
from logirec.relation import Relation

RECIPE = recipe("default", "hybrid", 3, {"model": {"dims": 4, "width": 8}})
IDS = [f"P{i:03d}" for i in range(30)]
TITLES = [f"Kettle [No. {i}] ☕" if i % 3 else None for i in range(30)]
EVIDENCE = Evidence(torch.arange(31), torch.arange(30, dtype=torch.int32).flip(0), torch.rand(2, 30))
CURVE = {"temperature": 0.5, "log_probability": [-9.0, -1.0], "confidence": [0.1, 0.8], "knows": True}


def parts(**changes) -> Parts:
    model = LogiRec(len(IDS), RECIPE.model, seed=3)
    usual = {
        "weights": dict(model.state_dict()),
        "recipe": RECIPE,
        "catalogue": Catalogue(IDS, TITLES, [None] * 30, ["Kitchen"] * 30),
        "links": {r: KnownLinks(np.arange(31), np.arange(1, 31, dtype=np.int32) % 30) for r in Relation},
        "calibration": {"low": CURVE},
        "metrics": {"test": {"low": {}}},
        "card": "# A model\n",
        "dataset_sha256": "0f" * 32,
        "evidence": EVIDENCE.tensors(),
    }
    return Parts(**{**usual, **changes})


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    out = tmp_path_factory.mktemp("artifact") / "model"
    artifact.save(out, parts())
    return out


def test_what_is_saved_is_loaded(saved):
    loaded = TrainedModel.load(saved)
    assert loaded.recipe == RECIPE
    assert loaded.vocabulary.item_ids == tuple(IDS)
    assert list(loaded.catalogue.titles) == TITLES
    assert loaded.catalogue.item(4) == (4, "P004", "Kettle [No. 4] ☕", None, "Kitchen")
    assert loaded.links[Relation.CO_VIEW].of(3) == [4]
    assert loaded.curves["low"].temperature == 0.5
    assert loaded.metrics == {"test": {"low": {}}}
    expected = LogiRec(len(IDS), RECIPE.model, seed=3)
    for mine, theirs in zip(loaded.model.parameters(), expected.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    for name, tensor in EVIDENCE.tensors().items():
        assert torch.equal(getattr(loaded.model.evidence, name), tensor)


WRONG = {
    "of another catalogue": {**EVIDENCE.tensors(), "starts": torch.arange(30)},
    "no numbers": {**EVIDENCE.tensors(), "amounts": torch.full((2, 30), torch.nan)},
    "of one kind": {**EVIDENCE.tensors(), "amounts": torch.rand(1, 30)},
    "of items that are not there": {**EVIDENCE.tensors(), "targets": torch.full((30,), 30, dtype=torch.int32)},
    "none": None,
}


@pytest.mark.parametrize("wrong", WRONG)
def test_evidence_that_does_not_fit_is_refused(tmp_path, wrong):
    artifact.save(tmp_path / "model", parts(evidence=WRONG[wrong]))
    with pytest.raises(ArtifactError, match="evidence"):
        TrainedModel.load(tmp_path / "model")


def test_a_recipe_without_evidence_needs_none(tmp_path):
    plain = recipe("default", "hybrid", 3, {"model": {"dims": 4, "width": 8, "evidence": False}})
    artifact.save(tmp_path / "model", parts(recipe=plain, evidence=None))
    assert TrainedModel.load(tmp_path / "model").model.evidence is None


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    weights = dict(LogiRec(len(IDS), RECIPE.model).state_dict())
    weights["raw_items"][3, 2] = torch.nan
    artifact.save(tmp_path / "model", parts(weights=weights))
    with pytest.raises(ArtifactError, match="no numbers"):
        TrainedModel.load(tmp_path / "model")


def test_whoever_may_read_the_folder_may_read_the_weights(saved):
    assert len({oct(path.stat().st_mode) for path in saved.iterdir()}) == 1


def test_folder_has_its_parts(saved):
    assert {path.name for path in saved.iterdir()} == {
        *("weights.safetensors", "items.sqlite", "links.safetensors", "calibration.json", "config.json"),
        *("metrics.json", "README.md", "manifest.json", "evidence.safetensors"),
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
        "calibration.json": lambda curves: {"low": {**CURVE, "confidence": [0.8, 0.1]}},
        "config.json": lambda config: {**config, "model": {**config["model"], "dims": 5}},
    }
    for name, change in changes.items():
        with pytest.raises(ArtifactError, match="do not fit together"):
            TrainedModel.load(rewritten(name, change))
    short = Catalogue(IDS[:-1], TITLES[:-1], [None] * 29, [None] * 29)
    astray = {r: KnownLinks(np.arange(5), np.arange(4, dtype=np.int32)) for r in Relation}
    for name, change in (("items", {"catalogue": short}), ("links", {"links": astray})):
        artifact.save(tmp_path / name, parts(**change))
        (tmp_path / name / MANIFEST).unlink()
        write_manifest(tmp_path / name, artifact.KIND, artifact.SCHEMA, {"items": len(IDS), "dataset_sha256": "0f"})
        with pytest.raises(ArtifactError, match="do not fit together"):
            TrainedModel.load(tmp_path / name)
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
    with pytest.raises(ArtifactError, match="schema 6"):
        TrainedModel.load(saved)
