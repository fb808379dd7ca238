"""`logirec demo`: make the demo shop and show what is in it."""

from pathlib import Path

import typer

from logirec.cli import options


def command(
    out: Path = typer.Option(Path("demo"), "--out", help="Folder for the shop's files and its dataset."),
    items: int = typer.Option(2000, "--items", help="Size of the shop, 200 to 10,000,000."),
    seed: int = typer.Option(0, "--seed", help="The same seed makes the same shop."),
    files_only: bool = typer.Option(False, "--files-only", help="Write the shop's files and stop."),
    quiet: bool = options.QUIET,
) -> None:
    """Make a believable shop, prepare and audit it, and show baskets with the answers planted for them."""
    from logirec.demo import run_demo
    from logirec.progress import for_terminal

    run_demo(out, items, seed, files_only, for_terminal(quiet))
