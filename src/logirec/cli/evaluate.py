"""`logirec evaluate`: how well does a model do on a dataset?"""

from pathlib import Path

import typer

from logirec.cli import options


def command(
    model: Path = typer.Argument(..., help="A folder that `logirec train` wrote."),
    dataset: Path = typer.Argument(..., help="A folder that `logirec prepare` wrote, with the same items."),
    stage: str = typer.Option("test", "--stage", help="test, or valid while choosing."),
    max_queries: int | None = typer.Option(None, "--max-queries", min=1, help="Rank so many of each kind, drawn once."),
    device: str = typer.Option("auto", "--device", help="auto, cpu or cuda."),
    asymmetry: bool = typer.Option(False, "--asymmetry", help="Also the degree of asymmetry."),
    json: bool = options.JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Rank every item for every query: Hit@k, NDCG@k, MRR, raw and filtered, with 95 % intervals."""
    from logirec.judge import judge
    from logirec.progress import for_terminal

    report = judge(model, dataset, stage, max_queries, device, asymmetry, for_terminal(quiet))
    if json:
        options.print_json(report)
    else:
        from logirec.reports.tables import show_evaluation

        show_evaluation(report)
