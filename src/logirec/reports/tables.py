"""Reports as tables on a terminal. They take the same values that --json prints."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def _console() -> Console:
    """Without markup: a product may be called [anything]."""
    console = Console(highlight=False, markup=False)
    return console if console.is_terminal else Console(highlight=False, markup=False, width=120)


def show_dataset(report: dict[str, Any], out: Path) -> None:
    console = _console()
    name = str(out).encode("utf-8", "replace").decode()
    console.print(
        f"{name}: protocol {report['protocol']}, seed {report['seed']}, {report['items']:,} items", style="bold"
    )
    links = Table("links", "directed", "undirected", "train", "valid", "test")
    for relation, counts in report["links"].items():
        links.add_row(relation, *(f"{counts[name]:,}" for name in ("directed", "undirected", "train", "valid", "test")))
    console.print(links)
    queries = Table("queries (answers)", "train", "valid", "test")
    for kind in ("low", "high"):
        cells = [report["queries"][stage][kind] for stage in ("train", "valid", "test")]
        queries.add_row(kind, *(f"{c['queries']:,} ({c['answers']:,})" for c in cells))
    console.print(queries)
    lines = report["lines"]
    for word in ("rejected", "filtered"):
        if lines[word]:
            counts = ", ".join(f"{reason} {count:,}" for reason, count in lines[word].items())
            console.print(f"{word} of {lines['read']:,} lines: {counts} (rejects.jsonl has the line numbers)")
    if "direction" in report["notes"]:
        console.print(f"high-order direction {report['notes']['direction']}")
    if report["protocol"] == "leak-free" and report["source"]["format"] == "orders":
        console.print("these are order lines: --protocol baskets tests on later baskets instead of held-out links")


def show_audit(report: dict[str, Any]) -> None:
    console = _console()
    table = Table("check", "of", "valid", "test", "which means")
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for check in report["checks"]:
        leak = "LEAK " if check["leak"] and check["found"] else ""
        cell = f"{leak}{check['found']:,} / {check['of']:,} ({check['share']:.1%})"
        rows.setdefault((check["name"], check["kind"], check["says"]), {})[check["stage"]] = cell
    for (name, kind, says), cells in rows.items():
        table.add_row(name, kind, cells.get("valid", ""), cells.get("test", ""), says)
    console.print(table)
    for name, value in report["facts"].items():
        console.print(f"{name.replace('_', ' ')}: {value:.3f}")
    verdict = {
        "clean": "clean: nothing of the test is in training",
        "leaks": f"leaks: {report['leaks']} checks found something",
        "not judged": "not judged: nothing here in which a leak would show; weigh the counts yourself",
    }[report["verdict"]]
    console.print(f"verdict: {verdict} (protocol {report['protocol']})", style="bold")


def show_baskets(heading: str, rows: list[list[list[str]]]) -> None:
    table = Table("basket", "complements", "substitutes, not to be recommended", title=heading, title_justify="left")
    for groups in rows:
        table.add_row(*("\n".join(group) for group in groups), end_section=True)
    _console().print(table)
