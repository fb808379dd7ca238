"""A comparison as one self-contained HTML page, and the same as Markdown with its figures beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from logirec.errors import UsageError
from logirec.reports.tables import METRICS, by_mrr, difference, with_interval

HTML, MARKDOWN, FIGURES = "report.html", "report.md", "figures"


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class Rows:
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    strong: Sequence[int] = ()  # rows to be seen first


@dataclass(frozen=True)
class Figure:
    name: str
    caption: str


Block = Heading | Text | Code | Rows | Figure


def check_report_folder(folder: Path) -> None:
    """Before hours of work: a report goes into a new folder, an empty one, or one that holds a report."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = {path.name for path in folder.iterdir()} - {HTML, MARKDOWN, FIGURES}
    except OSError as error:
        raise UsageError(f"--report {folder}: no folder can be made there ({error.strerror})") from error
    if others:
        raise UsageError(f"--report {folder} holds other files; name another folder")


def write_report(result: dict[str, Any], folder: Path) -> None:
    figures = folder / FIGURES
    figures.mkdir(parents=True, exist_ok=True)
    drawn = _draw(result, figures)
    blocks = _blocks(result, drawn)
    data = result["dataset"]
    title = f"Complementary recommendation on {data['name']}"
    (folder / MARKDOWN).write_text(_markdown(title, blocks), encoding="utf-8")
    (folder / HTML).write_text(_html(title, blocks, figures), encoding="utf-8")


def _draw(result: dict[str, Any], folder: Path) -> bool:
    try:
        from logirec.reports import plots
    except ImportError:  # the extra `plots` is not installed: tables alone
        return False
    plots.draw_hits(result, folder / "hits.svg")
    plots.draw_asymmetry(result, folder / "asymmetry.svg")
    plots.draw_costs(result, folder / "costs.svg")
    return True


# What is said ------------------------------------------------------------------------------------------------------


def _blocks(result: dict[str, Any], drawn: bool) -> list[Block]:
    data = result["dataset"]
    blocks: list[Block] = [
        Text(
            f"{data['source']}, protocol {data['protocol']}, split seed {data['split_seed']}, {data['items']:,} items; "
            f"models with seed {result['seed']}. Every item of the catalogue is ranked for every query; ties count "
            "half. Filtered: a query's known answers, its own items and, for one item, what is viewed with it are "
            "taken out. With each figure its 95 % bootstrap interval over queries; differences are paired by query."
            + (" Once chosen on validation, each model was told its links too (--refit)." if result["refit"] else "")
        )
    ]
    for kind, words in (("low", "One item asked"), ("high", "Sets asked")):
        if ranked := by_mrr(result, kind):
            blocks += [Heading(f"{words} ({kind})"), *_leaderboards(result, kind, ranked)]
    if drawn:
        blocks += [
            Heading("Hits among the first k"),
            Figure("hits", "Share of queries with an answer among the first k, filtered. The best are named."),
            Heading("Asymmetry"),
            Figure(
                "asymmetry",
                "Degree of asymmetry against quality for one item, filtered, one point a model. 0: a goes with b as "
                "much as b with a. Scores become probabilities at the temperature that fits validation best.",
            ),
            Heading("Cost"),
            Figure("costs", "Seconds to fit with the chosen settings against MRR, filtered."),
        ]
    blocks += [Heading("What each took"), _costs(result)]
    blocks += [
        Heading("Settings"),
        Text("Tried on validation by the mean (geometric) of low and high MRR."),
        _tried(result),
    ]
    if result["left_out"]:
        rows = [(name, why) for name, why in result["left_out"].items()]
        blocks += [Heading("Left out"), Rows(("model", "why"), rows)]
    return [*blocks, Heading("Command"), Code(result.get("command", ""))]


def _leaderboards(result: dict[str, Any], kind: str, ranked: list[str]) -> list[Block]:
    blocks: list[Block] = []
    for ranking in ("filtered", "raw"):
        order = sorted(ranked, key=lambda name: -float(result["models"][name][kind][ranking]["mrr"]))
        head = [f"{ranking}", *METRICS, "NDCG@3 as in the paper", "MRR, from the best baseline"]
        rows = []
        for name in order:
            found = result["models"][name][kind][ranking]
            cells = [with_interval(found, metric) for metric in (*METRICS.values(), "ndcg_paper@3")]
            rows.append([name, *cells, difference(result, kind, name, ranking)])
        ours = [at for at, name in enumerate(order) if result["models"][name]["ours"]]
        blocks.append(Rows(head, rows, ours))
    for by, words in (("basket_size", "basket size"), ("popularity", "training links to the answer")):
        groups = result["models"][ranked[0]][kind]["filtered"]["groups"][by]
        if len(groups) > 1:
            rows = [
                [name, *_by_group(result["models"][name][kind]["filtered"]["groups"][by], groups)] for name in ranked
            ]
            head = [f"filtered MRR by {words}", *(f"{g} ({found['queries']:,})" for g, found in groups.items())]
            blocks.append(Rows(head, rows))
    return blocks


def _by_group(found: dict[str, Any], groups: dict[str, Any]) -> list[str]:
    return [f"{found[group]['mrr']:.3f}" for group in groups]


def _costs(result: dict[str, Any]) -> Rows:
    rows = []
    for name, found in result["models"].items():
        asymmetry = found["asymmetry"]
        error = f" ± {asymmetry['standard_error']:.3f}" if asymmetry["pairs"] else ""
        memory = "" if found["memory_mb"] is None else f"{found['memory_mb']:,.0f}"
        rows.append(
            [
                name,
                f"{found['fit_seconds']:.2f}",
                f"{found['tuning_seconds']:.1f}",
                f"{found['scoring_ms_per_query']:.3f}",
                memory,
                found["device"],
                f"{asymmetry['degree']:.3f}{error}",
            ]
        )
    head = ("model", "fit, s", "all settings, s", "ms a query", "memory, MB more", "device", "degree of asymmetry")
    return Rows(head, rows)


def _tried(result: dict[str, Any]) -> Rows:
    rows = []
    for name, found in result["models"].items():
        for tried in found["tried"]:
            chosen = "chosen" if len(found["tried"]) == 1 or tried["settings"] == found["settings"] else ""
            valid = f"{tried['valid_mrr']:.4f}" if "valid_mrr" in tried else ""
            rows.append([name, _settings(tried["settings"]), valid, f"{tried['fit_seconds']:.2f}", chosen])
    return Rows(("model", "settings", "validation MRR", "fit, s", ""), rows)


def _settings(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "none"


# How it is written -------------------------------------------------------------------------------------------------


def _markdown(title: str, blocks: list[Block]) -> str:
    parts = [f"# {title}"]
    for block in blocks:
        match block:
            case Heading(text):
                parts.append(f"## {text}")
            case Text(text):
                parts.append(text)
            case Code(text):
                parts.append(f"```\n{text}\n```")
            case Rows(head, rows, strong):
                lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
                for at, row in enumerate(rows):
                    cells = [f"**{row[0]}**", *row[1:]] if at in strong else row
                    lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
                parts.append("\n".join(lines))
            case Figure(name, caption):
                parts.append(f"![{caption}]({FIGURES}/{name}.svg)\n\n{caption}")
    return "\n\n".join(parts) + "\n"


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #111; background: #fff; max-width: 75rem; margin: 2rem auto;
  padding: 0 1rem }
h1 { font-size: 1.6rem }
h2 { font-size: 1.2rem; margin-top: 2rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ccc; text-align: right; white-space: nowrap }
th { border-bottom: 2px solid #111; vertical-align: bottom; white-space: normal }
th:first-child, td:first-child { text-align: left }
small { color: #444 }
tr.strong td { font-weight: 600; background: #eef4fb }
figure { margin: 1rem 0 }
figure svg { max-width: 100%; height: auto }
figcaption { color: #333; font-size: 13px }
pre { background: #f4f4f4; padding: .6rem; overflow-x: auto }
@media print {
  body { max-width: none; margin: 0; font-size: 11px }
  table { font-size: 8px }
  h2 { break-after: avoid }
  tr, figure { break-inside: avoid }
  .wide { overflow: visible }
}
"""


def _html(title: str, blocks: list[Block], figures: Path) -> str:
    parts = [f"<h1>{escape(title)}</h1>"]
    for block in blocks:
        match block:
            case Heading(text):
                parts.append(f"<h2>{escape(text)}</h2>")
            case Text(text):
                parts.append(f"<p>{escape(text)}</p>")
            case Code(text):
                parts.append(f"<pre>{escape(text)}</pre>")
            case Rows():
                parts.append(_html_table(block))
            case Figure(name, caption):
                drawing = (figures / f"{name}.svg").read_text(encoding="utf-8")
                drawing = drawing[drawing.index("<svg") :]  # no XML header inside a page
                parts.append(f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>")
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    page = f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"
    return f'<!doctype html><html lang="en"><head>{head}{page}\n'


def _html_cell(cell: str) -> str:
    """An interval goes below its value, small."""
    value, bracket, interval = cell.partition(" (")
    return f"{escape(value)}<br><small>{escape(interval[:-1])}</small>" if bracket else escape(cell)


def _html_table(block: Rows) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in block.head)
    rows = []
    for at, row in enumerate(block.rows):
        cells = "".join(f"<td>{_html_cell(cell)}</td>" for cell in row)
        rows.append(f'<tr class="strong">{cells}</tr>' if at in block.strong else f"<tr>{cells}</tr>")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
