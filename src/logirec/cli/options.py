"""Options that say what the settings say: one help text, kept beside the field."""

import os
import sys
from typing import Any

import typer
from pydantic import BaseModel

QUIET = typer.Option(False, "--quiet", help="No progress.")
JSON = typer.Option(False, "--json", help="One JSON object on stdout and nothing else there.")


def setting(model: type[BaseModel], name: str, *flags: str) -> Any:
    """An option for a field of a settings model, with its default and help."""
    field = model.model_fields[name]
    default = field.default
    if isinstance(default, tuple):
        default = ",".join(map(str, default))
    return typer.Option(default, *(flags or (f"--{name.replace('_', '-')}",)), help=field.description)


def print_json(value: object) -> None:
    import json

    try:
        sys.stdout.write(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # here, because click would call it a failure
        seen_enough()


def seen_enough() -> None:
    """Whoever reads us wants no more (| head): the rest is written to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
