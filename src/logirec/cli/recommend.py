"""`logirec recommend`: what goes well with a basket?"""

from pathlib import Path

import typer

from logirec.cli import options
from logirec.errors import UsageError


def command(
    model: Path = typer.Argument(..., help="A folder that `logirec train` wrote."),
    basket: list[str] = typer.Option([], "--basket", help="An item of the basket, by its id. May be repeated."),
    query: str | None = typer.Option(None, "--query", help='A query, such as "complement(A & B) & ~substitute(A)".'),
    top_k: int = typer.Option(10, "--top-k", min=1, help="How many."),
    substitutes: bool = typer.Option(False, "--substitutes", help="Known substitutes of the basket may appear too."),
    exclude: list[str] = typer.Option([], "--exclude", help="An item that must not appear. May be repeated."),
    category: list[str] = typer.Option([], "--category", help="Only items of this category. May be repeated."),
    approximate: bool = typer.Option(False, "--approximate", help="By the approximate index (train --ann)."),
    interactive: bool = typer.Option(False, "--interactive", help="Fill a basket by titles, with Tab."),
    json: bool = options.JSON,
) -> None:
    """Recommend what completes a basket: with the reasons and how sure it is."""
    if interactive and (basket or query or json):
        raise UsageError("--interactive starts with an empty basket; leave out --basket, --query and --json")
    if not interactive and not basket and query is None:
        raise UsageError("name at least one --basket ID, or a --query")
    from dataclasses import asdict

    from logirec.query import parse
    from logirec.recommender.answers import Request
    from logirec.recommender.recommender import Recommender

    asked = None if query is None else parse(query)
    request = Request(basket, top_k, asked, not substitutes, exclude, category or None)
    recommender = Recommender.load(model, approximate=approximate)
    if interactive:
        from logirec.shell import run_shell

        run_shell(recommender, model, request)
        return
    (answer,) = recommender.recommend_many([request])
    if json:
        options.print_json(asdict(answer))
    else:
        from logirec.reports.tables import show_answer

        show_answer(answer)
