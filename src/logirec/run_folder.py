"""The folder of a training run, MODEL.training: made anew, or gone on with where the same run left it.

run.json      the recipe, the dataset's hash, versions, the command
checkpoints/  the state that training resumes from; member-K/ has that of other models
"""

import json
import shutil
from pathlib import Path
from typing import Any

from logirec.data.query_sets import STAGES
from logirec.errors import ArtifactError, InputError, UsageError
from logirec.folders import write_aside
from logirec.training import checkpoint

RUN, CHECKPOINTS = "run.json", "checkpoints"
MAY_CHANGE = ("max_steps", "patience", "validate_every", "refit")  # settings that a resumed run may have anew


def opened(folder: Path, record: dict[str, Any], resume: bool, force: bool) -> None:
    """For the run that the record describes."""
    text = json.dumps(record, indent=1) + "\n"
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file, where the run's state would go; name another --out")
    if resume:
        if _check_same_run(folder, record):
            write_aside(folder / RUN, text)
        checkpoint.tidy(folder / CHECKPOINTS)
        return
    if any(folder.glob(f"{CHECKPOINTS}/step-*")) and not force:
        raise UsageError(f"{folder} holds an earlier run; --resume goes on with it, --force starts over")
    for old in (folder / CHECKPOINTS, folder / "tensorboard", *folder.glob("member-*")):
        shutil.rmtree(old, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    write_aside(folder / RUN, text)
    (folder / CHECKPOINTS).mkdir()


def _check_same_run(folder: Path, record: dict[str, Any]) -> bool:
    """Whether the recipe has changed in what may change; anything else that differs is an error."""
    try:
        earlier = json.loads((folder / RUN).read_text(encoding="utf-8"))
        dataset, before = earlier["dataset"]["sha256"], _settled(earlier["recipe"])
        told = earlier["recipe"].get("training", {}).get("refit", "train")
        to_be_told = STAGES.index(told)
    except FileNotFoundError:
        raise UsageError(f"--resume: no earlier run at {folder}; leave --resume out to start one") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArtifactError(f"{folder}/{RUN}: cannot be read; start over without --resume, with --force") from error
    if dataset != record["dataset"]["sha256"]:
        raise InputError(f"--resume: the run at {folder} was made from another dataset; --force starts over")
    if to_be_told > STAGES.index(record["recipe"]["training"]["refit"]):
        raise UsageError(f"--resume: the run at {folder} has training.refit={told}; name it again (test: --refit)")
    now = _settled(record["recipe"])
    differ = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if differ:
        raise UsageError(f"--resume: {', '.join(differ)} differ from the run at {folder}; --force starts over")
    return bool(earlier["recipe"] != record["recipe"])


def _settled(recipe: dict[str, Any]) -> dict[str, Any]:
    flat = {}
    for name, value in recipe.items():
        for key, inner in value.items() if isinstance(value, dict) else [("", value)]:
            if key not in MAY_CHANGE:
                flat[f"{name}.{key}".rstrip(".")] = inner
    return flat
