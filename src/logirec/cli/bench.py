"""`logirec bench`: speed, as ratios measured in one run."""

from pathlib import Path

import typer

from logirec.cli import options

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)


@app.callback()
def root() -> None:
    """Measure speed, as ratios within one run."""


@app.command("train")
def train(
    dataset: Path | None = typer.Option(None, "--dataset", help="Default: a demo shop the size of Gift Cards."),
    device: str = typer.Option("auto", "--device", help="auto, cpu or cuda."),
    steps: int = typer.Option(20, "--steps", min=3, help="Steps measured (on a GPU groups of 25 steps)."),
    json: bool = options.JSON,
    quiet: bool = options.QUIET,
) -> None:
    """One training step against a literal implementation of the paper's equations with torch.distributions."""
    from logirec.bench.train import bench_training
    from logirec.progress import for_terminal

    report = bench_training(dataset, device, steps, for_terminal(quiet))
    if json:
        options.print_json(report)
    else:
        from logirec.reports.tables import show_figures

        show_figures(report)
