"""`logirec train`: dataset -> model."""

import json as jsonlib
from pathlib import Path
from typing import Any

import typer

from logirec.cli import options
from logirec.config import PRESETS, VARIANTS, Recipe, recipe
from logirec.errors import UsageError


def command(
    dataset: Path = typer.Argument(..., help="A folder that `logirec prepare` wrote."),
    out: Path = typer.Option(..., "--out", help="Folder for the model; the run's state goes beside it, OUT.training."),
    variant: str = typer.Option("hybrid", "--variant", help=f"Kinds of query to learn: {', '.join(VARIANTS)}."),
    preset: str = typer.Option(
        "default", "--preset", help=f"{', '.join(PRESETS)}: the paper's, ours, four of ours, ours for raw ranking."
    ),
    device: str = typer.Option("auto", "--device", help="auto, cpu or cuda."),
    max_steps: int | None = typer.Option(None, "--max-steps", help="Steps at most. Default: the preset's."),
    patience: int | None = typer.Option(
        None, "--patience", help="Stop when validation has not risen for this many steps; 0: never."
    ),
    seed: int = options.setting(Recipe, "seed"),
    settings: list[str] = typer.Option(
        [], "--set", help="Any other setting: model.dims=64, training.learning_rate=0.0003. May be repeated."
    ),
    refit: bool = typer.Option(
        False, "--refit", help="For serving: in the end the model is told all links, those of validation and test too."
    ),
    resume: bool = typer.Option(False, "--resume", help="Go on with the run in OUT.training."),
    force: bool = typer.Option(False, "--force", help="Replace a model or run that is there already."),
    checkpoint_seconds: float = typer.Option(60.0, "--checkpoint-seconds", min=0, help="Time between checkpoints."),
    tensorboard: bool = typer.Option(False, "--tensorboard", help="Also write curves for TensorBoard."),
    ann: bool = typer.Option(False, "--ann", help="Also build an approximate index, for millions of items."),
    json: bool = options.JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Train a model. Ctrl-C writes a checkpoint; --resume goes on to the same result."""
    changes = _changes(settings)
    for name, value in (("max_steps", max_steps), ("patience", patience)):
        if value is not None:
            changes.setdefault("training", {})[name] = value
    if refit:
        changes.setdefault("training", {}).setdefault("refit", "test")
    chosen = recipe(preset, variant, seed, changes)

    from logirec.data.dataset import Dataset
    from logirec.fit import RunOptions, train
    from logirec.progress import for_terminal

    run = RunOptions(device, resume, force, checkpoint_seconds, tensorboard, ann)
    metrics = train(Dataset.load(dataset), out, chosen, run, for_terminal(quiet))
    if json:
        options.print_json(metrics)
    else:
        from logirec.reports.tables import show_training

        show_training(metrics, out)


def _changes(settings: list[str]) -> dict[str, dict[str, Any]]:
    changes: dict[str, dict[str, Any]] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        room, dot, key = name.strip().partition(".")
        if not equals or not dot or not key:
            raise UsageError(f"--set {text}: write model.NAME=VALUE or training.NAME=VALUE")
        try:
            changes.setdefault(room, {})[key] = jsonlib.loads(value)
        except ValueError:
            changes.setdefault(room, {})[key] = value.strip()
    return changes
