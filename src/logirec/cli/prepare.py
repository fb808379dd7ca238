"""`logirec prepare`: raw files -> dataset."""

from pathlib import Path
from typing import Any

import typer
from pydantic import ValidationError

from logirec.cli import options
from logirec.config import FORMATS, PROTOCOLS, OrderRules, PrepareConfig, settings_error
from logirec.errors import UsageError


def command(
    source: Path | None = typer.Argument(None, help="File or folder to read. Left out: the demo shop."),
    out: Path = typer.Option(..., "--out", help="Folder to write; it appears whole or not at all."),
    format: str | None = typer.Option(None, "--format", help=f"{', '.join(FORMATS)}. Default: detected."),
    protocol: str | None = typer.Option(
        None,
        "--protocol",
        help=f"{', '.join(PROTOCOLS)}. Default: leak-free (released for the authors' folder).",
    ),
    seed: int = options.setting(PrepareConfig, "seed"),
    columns: str = typer.Option("", "--columns", help="Column names: order=...,item=...,time=..."),
    views: Path | None = typer.Option(None, "--views", help="Product views beside order lines: session_id, item_id."),
    interactions: Path | None = typer.Option(
        None, "--interactions", help="User interactions: user, item, rating, time."
    ),
    items: Path | None = typer.Option(None, "--items", help="Item descriptions: item_id, title, category, ..."),
    demo_items: int | None = typer.Option(
        None, "--demo-items", help="Size of the demo shop, 200 to 10,000,000. Default: 2,000."
    ),
    basket_sizes: str = options.setting(PrepareConfig, "basket_sizes"),
    max_queries: int = options.setting(PrepareConfig, "max_queries"),
    hide_views: bool = options.setting(PrepareConfig, "hide_views"),
    keep_unlinked: bool = options.setting(PrepareConfig, "keep_unlinked"),
    min_support: int = options.setting(OrderRules, "min_support"),
    min_llr: float = options.setting(OrderRules, "min_llr"),
    min_confidence: float = options.setting(OrderRules, "min_confidence"),
    top_links: int = options.setting(OrderRules, "top_links"),
    max_basket: int = options.setting(OrderRules, "max_basket"),
    max_bad: float = options.setting(PrepareConfig, "max_bad"),
    memory_mb: int = options.setting(PrepareConfig, "memory_mb"),
    force: bool = typer.Option(False, "--force", help="Replace a dataset that is there already."),
    json: bool = options.JSON,
    quiet: bool = options.QUIET,
) -> None:
    """Turn a shop's raw files into a dataset with splits and queries that can be trusted."""
    from logirec.data.prepare import Inputs, prepare
    from logirec.progress import for_terminal

    if format is not None and format not in FORMATS:
        raise UsageError(f"--format {format}: not one of {', '.join(FORMATS)}")
    config = _config(
        protocol=protocol,
        seed=seed,
        basket_sizes=_sizes(basket_sizes),
        max_queries=max_queries,
        hide_views=hide_views,
        keep_unlinked=keep_unlinked,
        max_bad=max_bad,
        memory_mb=memory_mb,
        orders={
            "min_support": min_support,
            "min_llr": min_llr,
            "min_confidence": min_confidence,
            "top_links": top_links,
            "max_basket": max_basket,
        },
    )
    inputs = Inputs(source, format, _columns(columns), views, interactions, items, demo_items)
    report = prepare(inputs, out, config, force, for_terminal(quiet))
    if json:
        options.print_json(report)
    else:
        from logirec.reports.tables import show_dataset

        show_dataset(report, out)


def _config(**values: Any) -> PrepareConfig:
    try:
        return PrepareConfig(**values)
    except ValidationError as error:
        raise settings_error(error) from error


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--basket-sizes {text}: numbers from 2 to 5, like 2,3") from None


def _columns(text: str) -> dict[str, str]:
    from logirec.data.sources.tables import NAMES

    pairs = [part.partition("=") for part in text.split(",") if part]
    wrong = [role for role, equals, name in pairs if role.strip() not in NAMES or not equals or not name]
    if wrong:
        raise UsageError(f"--columns {text}: write role=name, with roles from {', '.join(NAMES)}")
    return {role.strip(): name.strip() for role, _, name in pairs}
