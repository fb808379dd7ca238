"""`logirec demo`: make the demo shop and show what is in it."""

import os
import sys
from pathlib import Path

import typer

from logirec.cli import options
from logirec.cli.serve import load_server
from logirec.errors import UsageError


def command(
    out: Path = typer.Option(Path("demo"), "--out", help="Folder for the shop's files and its dataset."),
    items: int = typer.Option(2000, "--items", help="Size of the shop, 200 to 10,000,000."),
    seed: int = typer.Option(0, "--seed", help="The same seed makes the same shop."),
    files_only: bool = typer.Option(False, "--files-only", help="Write the shop's files and stop."),
    serve: bool = typer.Option(False, "--serve", help="Then serve the model, with its page, on this machine."),
    port: int = typer.Option(8000, "--port", min=0, max=65535, help="Of the page; 0: any free one."),
    quiet: bool = options.QUIET,
) -> None:
    """Make a believable shop, prepare and audit it, train a model and show what it recommends for planted baskets."""
    from logirec.demo import run_demo
    from logirec.progress import for_terminal

    if serve and files_only:
        raise UsageError("--serve needs a model, which --files-only leaves out; choose one of them")
    if serve:  # what stands in the way is said before the minutes of training
        load_server()
        from logirec.service.server import listen

        listen("127.0.0.1", port).close()
    model = run_demo(out, items, seed, files_only, for_terminal(quiet))
    if serve:  # by a process that holds nothing of all that
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-m", "logirec", "serve", str(model), "--port", str(port)])  # noqa: S606
