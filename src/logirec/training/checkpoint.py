"""The state that training resumes from. Each is a folder that appears whole or not at all; the last two are kept."""

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from logirec.errors import ArtifactError
from logirec.folders import new_folder, read_manifest, write_manifest
from logirec.model.tensors import read_tensors, write_tensors

KIND, SCHEMA = "checkpoint", 1
KEPT = 2
TENSORS, STATE = "state.safetensors", "state.json"


@dataclass
class TrainingState:
    """Where a run stands, beside its tensors."""

    step: int = 0  # steps done
    summed: int = 0  # steps in the running sum of the loss
    best: float = -1.0  # best validation MRR so far
    best_step: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)  # what metrics.jsonl holds


def save(folder: Path, state: TrainingState, tensors: dict[str, Tensor]) -> None:
    out = folder / f"step-{state.step:09d}"
    if out.exists():
        return
    with new_folder(out, KIND, force=False) as work:
        write_tensors(tensors, work / TENSORS)
        (work / STATE).write_text(json.dumps(asdict(state)) + "\n", encoding="utf-8")
        write_manifest(work, KIND, SCHEMA, {"step": state.step})
    for old in _checkpoints(folder)[:-KEPT]:
        shutil.rmtree(old)


def load(folder: Path) -> tuple[TrainingState, dict[str, Tensor]] | None:
    """The newest checkpoint that is sound; None where there is none at all."""
    error: Exception | None = None
    for path in reversed(_checkpoints(folder)):
        try:
            read_manifest(path, KIND, SCHEMA)
            state = TrainingState(**json.loads((path / STATE).read_text(encoding="utf-8")))
            return state, read_tensors(path / TENSORS)
        except (ArtifactError, OSError, ValueError, TypeError) as wrong:
            error = wrong
    if error is not None:
        raise ArtifactError(f"{folder}: no sound checkpoint ({error}); start over without --resume") from error
    return None


def tidy(folder: Path) -> None:
    """Remove what a killed run left half written."""
    for path in folder.glob(".step-*"):
        shutil.rmtree(path, ignore_errors=True)


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*"))
