"""A trained model as a folder.

weights.safetensors   the parameters
vocabulary.json       item ids, by row
titles.json           titles, by row; null where there is none
config.json           the recipe it was made by
metrics.json          how well it does
README.md             the model card, for people
manifest.json         schema, items, size and SHA-256 of every file
and what training left beside them: run.json, metrics.jsonl, curves.png
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from logirec.config import Recipe
from logirec.errors import ArtifactError
from logirec.folders import new_folder, read_manifest, write_manifest
from logirec.model.logirec import LogiRec
from logirec.model.tensors import read_tensors, write_tensors
from logirec.vocabulary import Vocabulary

KIND, SCHEMA = "model", 2


@dataclass(frozen=True)
class TrainedModel:
    model: LogiRec
    recipe: Recipe
    vocabulary: Vocabulary
    titles: Sequence[str | None]
    metrics: dict[str, Any]
    dataset_sha256: str  # of the manifest of the dataset it was trained on

    @classmethod
    def load(cls, folder: str | Path, device: str | torch.device = "cpu") -> "TrainedModel":
        """Every byte is checked first; anything wrong is an ArtifactError that says what."""
        folder = Path(folder)
        manifest = read_manifest(folder, KIND, SCHEMA)
        try:
            items, dataset_sha256 = int(manifest["items"]), str(manifest["dataset_sha256"])
            recipe = Recipe.model_validate(_read(folder / "config.json"))
            vocabulary = Vocabulary(_read(folder / "vocabulary.json"))
            titles = _read(folder / "titles.json")
            model = LogiRec(items, recipe.model)
            model.load_state_dict(read_tensors(folder / "weights.safetensors"))
            if not len(vocabulary) == len(titles) == items:
                raise ValueError(f"{items} items, but {len(vocabulary)} ids and {len(titles)} titles")
            if not all(bool(weight.isfinite().all()) for weight in model.parameters()):
                raise ValueError("weights that are no numbers")
            metrics = _read(folder / "metrics.json")
        except (ValueError, KeyError, TypeError, RuntimeError, OSError, ValidationError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ArtifactError(f"{folder}: its parts do not fit together ({reason}); make it again") from error
        return cls(model.to(device), recipe, vocabulary, titles, metrics, dataset_sha256)


def save(
    out: Path,
    weights: dict[str, Tensor],
    recipe: Recipe,
    item_ids: Sequence[str],
    titles: Sequence[str | None],
    metrics: dict[str, Any],
    card: str,
    dataset_sha256: str,
    beside: Sequence[Path] = (),
    force: bool = False,
) -> None:
    with new_folder(out, KIND, force) as work:
        write_tensors(weights, work / "weights.safetensors")
        _write(work / "config.json", recipe.model_dump(mode="json"))
        _write(work / "vocabulary.json", list(item_ids))
        _write(work / "titles.json", list(titles))
        _write(work / "metrics.json", metrics)
        (work / "README.md").write_text(card, encoding="utf-8")
        for path in beside:
            shutil.copyfile(path, work / path.name)
        write_manifest(work, KIND, SCHEMA, {"items": len(item_ids), "dataset_sha256": dataset_sha256})


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
