"""Reports as tables on a terminal. They take the same values that --json prints."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.table import Table

from logirec.model.card import NOT_VALIDATED, TOLD
from logirec.recommender.answers import Answer, Recommendation


class Recommended(Protocol):
    """A basket's titles, what is recommended for it, and which of that was planted."""

    @property
    def basket(self) -> list[str]: ...
    @property
    def recommended(self) -> list[str]: ...
    @property
    def planted(self) -> list[bool]: ...


class _Console(Console):
    """Without markup: a product may be called [anything]."""

    def __init__(self, width: int | None = None) -> None:
        super().__init__(highlight=False, markup=False, width=width)

    def on_broken_pipe(self) -> None:
        """Quiet from now on. Whoever has seen enough (| head) is no reason to fail, which rich would."""
        with contextlib.suppress(SystemExit):
            super().on_broken_pipe()


def _console() -> Console:
    console = _Console()
    return console if console.is_terminal else _Console(width=120)


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
    if report["columns"]:
        console.print("columns: " + ", ".join(f"{role}={name}" for role, name in report["columns"].items()))
    if left_out := report["merged"]["items_without_link_left_out"]:
        console.print(f"left out: {_left_out(left_out, report['protocol'])}")
    if report["notes"].get("split") == "random":
        console.print("no times in these orders: the later baskets that test asks about are a random part")
    lines = report["lines"]
    for word in ("rejected", "filtered"):
        if lines[word]:
            counts = ", ".join(f"{reason} {count:,}" for reason, count in lines[word].items())
            console.print(f"{word} of {lines['read']:,} lines: {counts} (rejects.jsonl has the line numbers)")
    if "direction" in report["notes"]:
        console.print(f"high-order direction {report['notes']['direction']}")
    if report["protocol"] == "leak-free" and report["source"]["format"] == "orders":
        console.print("these are order lines: --protocol baskets tests on later baskets instead of held-out links")


def _left_out(count: int, protocol: str) -> str:
    items = f"{count:,} item" + "s" * (count != 1)
    if protocol == "baskets":
        return f"{items} that no training order holds"
    return f"{items} without a link (--keep-unlinked keeps those that are described)"


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


METRICS = {"Hit@3": "hit@3", "NDCG@3": "ndcg@3", "MRR": "mrr", "Hit@10": "hit@10"}


def show_evaluation(report: dict[str, Any]) -> None:
    """One row per kind and ranking; groups below."""
    console = _console()
    table = Table("queries", "ranking", "count", *METRICS, "NDCG@3 as in the paper")
    for kind in ("low", "high"):
        for ranking, found in report[kind].items():
            cells = [with_interval(found, name) for name in (*METRICS.values(), "ndcg_paper@3")]
            table.add_row(kind, ranking, f"{found['queries']:,}", *cells)
    console.print(table)
    groups = Table("filtered, by", "group", "queries", *METRICS)
    for kind in ("low", "high"):
        for by, values in report[kind].get("filtered", {}).get("groups", {}).items():
            for name, found in values.items():
                cells = [f"{found[metric]:.3f}" for metric in METRICS.values()]
                groups.add_row(f"{kind}: {by.replace('_', ' ')}", name, f"{found['queries']:,}", *cells)
    console.print(groups)
    if not report.get("trained_on_this_dataset", True):
        console.print("trained on another dataset: its training links may be among the test answers here", style="bold")
    if "asymmetry" in report:
        found = report["asymmetry"]
        error = f" ± {found['standard_error']:.4f} from {found['pairs']:,} pairs" if found["pairs"] else ", exact"
        console.print(f"degree of asymmetry {found['degree']:.4f}{error}")


def with_interval(found: dict[str, Any], name: str) -> str:
    low, high = found["intervals"][name]
    return f"{found[name]:.3f} ({low:.3f}-{high:.3f})"


def show_training(metrics: dict[str, Any], out: Path) -> None:
    why = "validation rose no more" if metrics["stopped_early"] else "all steps done"
    console = _console()
    console.print(
        f"{out}: step {metrics['best_step']:,} of {metrics['steps']:,} ({why}), validation MRR "
        f"{metrics['valid_mrr']:.3f}, {metrics['seconds']:.0f} s",
        style="bold",
    )
    show_evaluation(metrics["test"])
    if metrics["refit"] in TOLD:
        console.print(TOLD[metrics["refit"]])
    for kind in metrics["not_validated"]:
        console.print(NOT_VALIDATED[kind])
    if found := metrics.get("approximate"):
        console.print(
            found.get("refused")
            or f"approximate index: {found['recall_at_10']:.1%} of the ten best, following {found['followed']:,} items"
        )


def show_figures(report: dict[str, Any]) -> None:
    """Names and values, one a line."""
    table = Table("figure", "value")
    for name, value in report.items():
        table.add_row(name.replace("_", " "), f"{value:,.2f}" if isinstance(value, float) else str(value))
    _console().print(table)


def show_comparison(reports: dict[str, dict[str, Any]]) -> None:
    """Models side by side: filtered, on test."""
    table = Table("filtered, on test", "queries", *METRICS)
    for kind in ("low", "high"):
        for name, report in reports.items():
            if found := report[kind].get("filtered"):
                table.add_row(name, kind, *(f"{found[metric]:.3f}" for metric in METRICS.values()))
        table.add_section()
    _console().print(table)


def show_names(says: dict[str, str]) -> None:
    table = Table("model", "what it is")
    for name, line in says.items():
        table.add_row(name, line)
    _console().print(table)


def show_leaderboard(result: dict[str, Any]) -> None:
    """Filtered, best first; the difference is from the best baseline, paired by query."""
    console = _console()
    for kind in ("low", "high"):
        ranked = by_mrr(result, kind)
        if not ranked:
            continue
        queries = result["models"][ranked[0]][kind]["filtered"]["queries"]
        table = Table(title=f"{kind}, filtered, {queries:,} queries", title_justify="left")
        table.add_column("model", no_wrap=True)
        for column in (*METRICS, "95 % of MRR", "MRR, from the best baseline", "fit", "ms/query"):
            table.add_column(column, justify="right")
        for name in ranked:
            found = result["models"][name]
            values = found[kind]["filtered"]
            low, high = values["intervals"]["mrr"]
            cells = [f"{values[metric]:.3f}" for metric in METRICS.values()]
            cost = (f"{found['fit_seconds']:.1f} s", f"{found['scoring_ms_per_query']:.2f}")
            table.add_row(name, *cells, f"{low:.3f}-{high:.3f}", difference(result, kind, name), *cost)
        console.print(table)
    if result["refit"]:
        console.print("once chosen on validation, each was told its links too (--refit)")
    for name, why in result["left_out"].items():
        console.print(f"{name}: {why}")


def by_mrr(result: dict[str, Any], kind: str) -> list[str]:
    """Models with figures of that kind, best first."""
    have = [name for name, found in result["models"].items() if found.get(kind)]
    return sorted(have, key=lambda name: -float(result["models"][name][kind]["filtered"]["mrr"]))


def difference(result: dict[str, Any], kind: str, name: str, ranking: str = "filtered", metric: str = "mrr") -> str:
    """+.012 (+.003 to +.021) against the best baseline, or nothing for that one itself."""
    paired = result["against_best_baseline"].get(kind, {}).get(ranking, {}).get(metric)
    if paired is None:
        return ""
    if name == paired["best"]:
        return "the best baseline"
    found = paired["differences"][name]
    low, high = found["interval"]
    return f"{found['difference']:+.3f} ({low:+.3f} to {high:+.3f})"


def show_recommendations(heading: str, examples: Sequence[Recommended]) -> None:
    table = Table("basket", "goes well with it", "planted", title=heading, title_justify="left")
    for example in examples:
        marks = ["yes" if planted else "" for planted in example.planted]
        table.add_row("\n".join(example.basket), "\n".join(example.recommended), "\n".join(marks), end_section=True)
    _console().print(table)


def show_answer(answer: Answer) -> None:
    """A row per recommendation, with its reasons; below, what is missing and why."""
    console = _console()
    table = Table("", "goes well with it", "sure", "because of", title=answer.query, title_justify="left")
    for found in answer:
        sure = "" if found.confidence is None else f"{found.confidence:.0%}"
        table.add_row(str(found.rank), _item(found.title, found.item_id), sure, _reasons(found))
    console.print(table if answer.recommendations else f"{answer.query}: nothing to recommend")
    if answer.unknown:
        console.print(f"not in the catalogue, left out: {', '.join(answer.unknown)}")
    for gone in answer.removed:
        why = "known links say so" if gone.known else "the model has it so"
        console.print(f"left out by {gone.by}: {_item(gone.title, gone.item_id)} ({why})")
    if answer.low_evidence:
        console.print("low evidence: nothing was bought with an item of the basket in training", style="bold")


def _item(title: str | None, item_id: str) -> str:
    return f"{title} [{item_id}]" if title else item_id


def _reasons(found: Recommendation) -> str:
    if found.because is None:
        return ""
    lines = []
    for part in found.because.contributions:
        together = ", bought together" if part.bought_together else ""
        lines.append(f"{part.share:.0%} {part.title or part.item_id}{together}")
    lines.append(f"the model {found.because.model:+.1f}, what is bought together {found.because.evidence:+.1f}")
    return "\n".join(lines)


def show_line(text: str) -> None:
    _console().print(text, style="bold")
