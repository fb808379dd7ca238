"""`logirec audit`: does a dataset give its answers away?"""

from pathlib import Path

import typer

from logirec.cli import options
from logirec.errors import LEAK_EXIT_CODE


def command(
    dataset: Path = typer.Argument(..., help="A folder that `logirec prepare` wrote."),
    json: bool = options.JSON,
) -> None:
    """Count what training gives away of the test. Exit code 6 when a leak-free or cold-items dataset leaks."""
    from logirec.data.audit import audit
    from logirec.data.dataset import Dataset

    report = audit(Dataset.load(dataset))
    if json:
        options.print_json(report.as_json())
    else:
        from logirec.reports.tables import show_audit

        show_audit(report.as_json())
    if report.leaks and report.protocol in ("leak-free", "cold-items"):
        raise typer.Exit(LEAK_EXIT_CODE)
