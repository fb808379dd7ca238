"""`logirec compare`: many models on one dataset, under one protocol."""

import shlex
import sys
from pathlib import Path

import typer

from logirec.cli import options
from logirec.errors import UsageError


def command(
    dataset: Path | None = typer.Argument(None, help="A folder that `logirec prepare` wrote."),
    models: str | None = typer.Option(
        None, "--models", help="Names, with commas between. Default: all that suit this machine."
    ),
    report: Path | None = typer.Option(None, "--report", help="Folder for report.html and report.md."),
    max_queries: int = typer.Option(5_000, "--max-queries", min=1, help="Test queries of each kind, drawn once."),
    seed: int = typer.Option(0, "--seed", min=0, max=2**63 - 1, help="Of the models' start and of all that is drawn."),
    device: str = typer.Option("auto", "--device", help="auto, cpu or cuda."),
    refit: bool = typer.Option(
        False, "--refit", help="Once chosen, every model is told validation's links too; kept in DATASET.compare-refit."
    ),
    force: bool = typer.Option(False, "--force", help="Make all results again; else those that are there are kept."),
    list_models: bool = typer.Option(False, "--list", help="Only say which models there are."),
    json: bool = options.JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Fit, tune on validation, rank on test: a leaderboard with 95 % intervals. A finished model is not made again."""
    from logirec.contenders import says
    from logirec.reports.tables import show_leaderboard, show_names

    if list_models:
        options.print_json(says()) if json else show_names(says())
        return
    if dataset is None:
        raise UsageError("compare: name a DATASET, a folder that `logirec prepare` wrote")
    names = tuple(name.strip() for name in (models or "").split(",") if name.strip())
    if models is not None and not names:
        raise UsageError("--models: no name in it; --list says which there are")
    from logirec.compare import CompareOptions, compare
    from logirec.data.dataset import Dataset
    from logirec.progress import for_terminal

    if report is not None:
        from logirec.reports.comparison import check_report_folder, write_report

        check_report_folder(report)
    chosen = CompareOptions(names, seed, max_queries, device, force, refit)
    result = compare(Dataset.load(dataset), chosen, for_terminal(quiet))
    result["command"] = shlex.join(["logirec", *sys.argv[1:]]).encode("utf-8", "replace").decode()
    if report is not None:
        write_report(result, report)
    if json:
        options.print_json(result)
    else:
        show_leaderboard(result)
