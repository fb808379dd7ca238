"""A trained model as a folder.

weights.safetensors   the parameters; `anchors` is what the contexts of the items came to
evidence.safetensors  what is added to the scores of items that are bought together, if the recipe wants it
items.sqlite          ids, titles, brands, categories, and an index of their words
links.safetensors     the training links: what reasons name, and which substitutes are known
calibration.json      confidence by log-probability, for low and high queries
config.json           the recipe it was made by
metrics.json          how well it does
README.md             the model card, for people
manifest.json         schema, items, size and SHA-256 of every file
and what training left beside them: run.json, metrics.jsonl, curves.png, reliability.png; ann.faiss and
ann.json, the approximate index
"""

import json
import shutil
import sqlite3
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
from logirec.model.catalogue import Catalogue, KnownLinks
from logirec.model.confidence import Curve
from logirec.model.evidence import Evidence
from logirec.model.logirec import LogiRec
from logirec.model.tensors import let_go, read_tensors, slices, write_tensors
from logirec.relation import Relation
from logirec.vocabulary import Vocabulary

KIND, SCHEMA = "model", 6
ITEMS, EVIDENCE = "items.sqlite", "evidence.safetensors"


@dataclass(frozen=True)
class TrainedModel:
    model: LogiRec
    recipe: Recipe
    catalogue: Catalogue
    links: dict[Relation, KnownLinks]  # of training
    curves: dict[str, Curve]  # confidence, by kind of query; a kind that validation lacked is missing
    metrics: dict[str, Any]
    dataset_sha256: str  # of the manifest of the dataset it was trained on

    @property
    def vocabulary(self) -> Vocabulary:
        return self.catalogue.vocabulary

    @classmethod
    def load(cls, folder: str | Path, device: str | torch.device = "cpu") -> "TrainedModel":
        """Every byte is checked first; anything wrong is an ArtifactError that says what."""
        folder = Path(folder)
        manifest = read_manifest(folder, KIND, SCHEMA)
        try:
            items, dataset_sha256 = int(manifest["items"]), str(manifest["dataset_sha256"])
            recipe = Recipe.model_validate(_read(folder / "config.json"))
            catalogue = Catalogue.read(folder / ITEMS)
            links = _links(read_tensors(folder / "links.safetensors"), items)
            curves = {kind: Curve(fitted) for kind, fitted in _read(folder / "calibration.json").items()}
            with torch.device("meta"):  # the file has the parameters
                model = LogiRec(items, recipe.model, seed=None)
            model.load_state_dict(read_tensors(folder / "weights.safetensors"), assign=True)
            if len(catalogue) != items:
                raise ValueError(f"{items} items, but {len(catalogue)} in {ITEMS}")
            if not all(_finite(weight) for weight in model.state_dict().values()):
                raise ValueError("weights that are no numbers")
            if recipe.model.evidence:
                model.evidence = _evidence(read_tensors(folder / EVIDENCE), items)
            metrics = _read(folder / "metrics.json")
        except (ValueError, KeyError, TypeError, RuntimeError, OSError, ValidationError, sqlite3.Error) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ArtifactError(f"{folder}: its parts do not fit together ({reason}); make it again") from error
        return cls(model.to(device), recipe, catalogue, links, curves, metrics, dataset_sha256)


def _finite(weight: Tensor) -> bool:
    """Looked at in parts: the answer for all of a large catalogue's weights is large itself."""
    if not weight.ndim:
        return bool(weight.isfinite())
    found = all(bool(weight[part].isfinite().all()) for part in slices(len(weight)))
    let_go(weight)
    return found


def _evidence(tensors: dict[str, Tensor], items: int) -> Evidence:
    evidence = Evidence(**tensors)
    inside = len(evidence.targets) == 0 or 0 <= int(evidence.targets.min()) <= int(evidence.targets.max()) < items
    if evidence.items != items or not inside or not _finite(evidence.amounts.T):
        raise ValueError("evidence that does not belong to these items")
    return evidence


def _links(tensors: dict[str, Tensor], items: int) -> dict[Relation, KnownLinks]:
    found = {}
    for relation in Relation:
        links = KnownLinks(*(tensors[f"{relation.name.lower()}.{part}"].numpy() for part in KnownLinks._fields))
        if len(links.starts) != items + 1 or int(links.starts[-1]) != len(links.targets):
            raise ValueError("links that do not belong to these items")
        found[relation] = links
    return found


@dataclass(frozen=True)
class Parts:
    """What a model folder is made of."""

    weights: dict[str, Tensor]
    recipe: Recipe
    catalogue: Catalogue
    links: dict[Relation, KnownLinks]
    calibration: dict[str, Any]
    metrics: dict[str, Any]
    card: str
    dataset_sha256: str
    evidence: dict[str, Tensor] | None = None
    beside: Sequence[Path] = ()


def save(out: Path, parts: Parts, force: bool = False) -> None:
    with new_folder(out, KIND, force) as work:
        write_tensors(parts.weights, work / "weights.safetensors")
        if parts.evidence is not None:
            write_tensors(parts.evidence, work / EVIDENCE)
        parts.catalogue.write(work / ITEMS)
        links = {
            f"{relation.name.lower()}.{part}": torch.from_numpy(array)
            for relation, known in parts.links.items()
            for part, array in known._asdict().items()
        }
        write_tensors(links, work / "links.safetensors")
        _write(work / "calibration.json", parts.calibration)
        _write(work / "config.json", parts.recipe.model_dump(mode="json"))
        _write(work / "metrics.json", parts.metrics)
        (work / "README.md").write_text(parts.card, encoding="utf-8")
        for path in parts.beside:
            shutil.copyfile(path, work / path.name)
        write_manifest(work, KIND, SCHEMA, {"items": len(parts.catalogue), "dataset_sha256": parts.dataset_sha256})


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
