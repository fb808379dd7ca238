"""Baskets of each size from 1 to 5, with every item hidden in turn: makes docs/basket-sizes.md.

    .venv/bin/python benchmarks/basket_sizes.py --work /tmp/leaderboard

Protocol `baskets` hides one item of a later basket, drawn by the seed, which leaves few queries of each size. Here
every item of a basket is hidden in turn: what the protocol gives on the mean over all seeds. Needs the prepared
datasets of benchmarks/leaderboard.py in WORK; what is finished (WORK/NAME.sizes) is not made again, figures are added
to benchmarks/basket_sizes.json and the page is written from there.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from leaderboard import SOURCES
from logirec.compare import CompareOptions, Match
from logirec.data.dataset import Dataset
from logirec.data.query_sets import KINDS, Kind, QuerySet, Ragged, joined, rectangle, stacked
from logirec.evaluation.evaluate import Questions
from logirec.fit import choose_device
from logirec.progress import for_terminal
from logirec.results import Result, Results

RECORD = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parent.parent / "docs" / "basket-sizes.md"
TITLES = {"instacart": "Instacart", "online-retail": "Online Retail (UCI)", "groceries": "Groceries"}
RIVALS = ("ease", "rules", "item2vec", "sum-of-neighbours")
OURS = ("logirec-default", "logirec-best")
SIZES = (1, 2, 3, 4, 5)
METRICS = {"MRR": "mrr", "Hit@10": "hit@10"}
DRAWS = 2_000  # bootstrap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of the prepared datasets and results")
    parser.add_argument("--datasets", nargs="*", choices=TITLES, default=list(TITLES), help="none: only the page")
    parser.add_argument("--models", nargs="*", choices=OURS, default=list(OURS), help="beside the others")
    parser.add_argument("--most", type=int, default=5_000, help="baskets asked about of each dataset")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    for name in arguments.datasets:
        found = run(arguments.work / name, arguments)
        record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        RECORD.write_text(json.dumps(record | {name: found}, indent=1) + "\n")
    record = json.loads(RECORD.read_text())
    PAGE.write_text(page({name: record[name] for name in TITLES if name in record}), encoding="utf-8")
    print(f"wrote {PAGE}")


def run(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    dataset, options = Dataset.load(folder), CompareOptions(max_queries=arguments.most)
    match = Match(dataset, options, choose_device(arguments.device).type, for_terminal(quiet=False))
    baskets = small_baskets(dataset, arguments.most)
    match.test = each_hidden(baskets)
    match.results = Results(folder.with_name(f"{folder.name}.sizes"))
    there = [name for name in (*RIVALS, *OURS) if match.results.load(name, match.key(name))]
    results = {name: match.result(name) for name in dict.fromkeys((*there, *RIVALS, *arguments.models))}
    return by_size(results, baskets)


def small_baskets(dataset: Dataset, most: int) -> Ragged:
    """Later baskets of up to six items, put together again from what was asked and what was hidden."""
    asked = [dataset.queries("test", kind) for kind in KINDS]
    whole = stacked([joined([some.members, some.answers]) for some in asked])
    small = np.flatnonzero(whole.lengths <= max(SIZES) + 1)
    if len(small) > most:
        small = np.sort(np.random.default_rng(0).choice(small, most, replace=False))
    return whole.take(small)


def each_hidden(baskets: Ragged) -> dict[Kind, Questions]:
    """By kind, as many queries of each basket as it has items."""
    asked = {}
    for kind, sizes in zip(KINDS, (SIZES[:1], SIZES[1:]), strict=True):
        members, answers = [], []
        for one in of_sizes(baskets, sizes):
            items = baskets.list(one)
            for hidden in range(len(items)):
                members.append(np.delete(items, hidden))
                answers.append(items[hidden])
        lists = Ragged(np.concatenate([[0], np.cumsum([len(m) for m in members])]), np.concatenate(members))
        nothing = Ragged(np.zeros(len(members) + 1, np.int64), np.empty(0, np.int32))
        queries = QuerySet(lists, rectangle(np.array(answers)[:, None]), np.zeros(len(members), np.int8), nothing)
        asked[kind] = Questions(queries, lists)
    return asked


def of_sizes(baskets: Ragged, sizes: tuple[int, ...]) -> np.ndarray:
    return np.flatnonzero(np.isin(baskets.lengths - 1, sizes))


def by_size(results: dict[str, Result], baskets: Ragged) -> dict[str, Any]:
    """size -> metric -> models with their means, and ours from the best of the others with its interval."""
    found: dict[str, Any] = {}
    for size in SIZES:
        kind = KINDS[size > 1]
        mine = of_sizes(baskets, SIZES[:1] if kind == "low" else SIZES[1:])
        owners = np.repeat(mine, baskets.lengths[mine])
        here = baskets.lengths[owners] == size + 1
        values = {name: of_kind(one, kind, here) for name, one in results.items()}
        found[str(size)] = {"baskets": len(np.unique(owners[here])), **side_by_side(values, owners[here])}
    return found


def of_kind(result: Result, kind: Kind, here: np.ndarray | slice = slice(None)) -> dict[str, np.ndarray]:
    """metric -> by query, of some of them."""
    return {m: result.per_query[f"{kind}.filtered.{m}"][here].astype(float) for m in METRICS.values()}


def side_by_side(values: dict[str, dict[str, np.ndarray]], owners: np.ndarray) -> dict[str, Any]:
    """model -> metric -> by query, as metric -> models with their means, and ours from the best of the others with its
    interval."""
    found: dict[str, Any] = {"queries": len(owners)}
    for metric in METRICS.values():
        means = {name: float(one[metric].mean()) for name, one in values.items()}
        best = max((name for name in means if name not in OURS), key=means.__getitem__)
        differ = {n: interval(values[n][metric] - values[best][metric], owners) for n in means if n in OURS}
        found[metric] = {"means": means, "best": best, "intervals": differ}
    return found


def interval(differences: np.ndarray, owners: np.ndarray) -> list[float]:
    """Bootstrap 95 % of the mean, owners drawn with all of theirs: queries of one basket are not independent."""
    _, place = np.unique(owners, return_inverse=True)
    sums, counts = np.bincount(place, differences), np.bincount(place)
    drawn = np.random.default_rng(0).integers(0, len(sums), (DRAWS, len(sums)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    return [round(float(x), 5) for x in np.quantile(means, (0.025, 0.975))]


def page(record: dict[str, Any]) -> str:
    lines = [
        "# Baskets by size",
        "",
        "Made by `benchmarks/basket_sizes.py --work WORK` after `benchmarks/leaderboard.py`: protocol `baskets`, "
        "seed 0, test. Of every later basket of up to six items each item is hidden in turn and looked for among all: "
        "what the protocol gives on the mean over all seeds (the leaderboard hides one item, drawn by seed 0). Models "
        "are fitted and tuned as on the leaderboard. Below ours the difference from the best of the others, and its 95 "
        "% interval, baskets drawn whole.",
        "",
    ]
    for name, sizes in record.items():
        lines += [f"## {TITLES[name]}", ""]
        if "logirec-best" in sizes["1"]["mrr"]["means"]:
            lines += [SOURCES[name].says, ""]
        lines += tables(sizes)
    return "\n".join(lines)


def tables(found: dict[str, Any]) -> list[str]:
    """A table for each metric, with a column for each part of the queries."""
    lines = []
    for title, metric in METRICS.items():
        cells = [part[metric] for part in found.values()]
        lines += ["| " + " | ".join([title, *(f"{name} ({part['queries']:,})" for name, part in found.items())]) + " |"]
        lines += ["|" + "---|" * (len(found) + 1)]
        everywhere = [model for model in cells[0]["means"] if all(model in cell["means"] for cell in cells)]
        for model in sorted(everywhere, key=lambda name: name not in OURS):
            shown = [f"{cell['means'][model]:.4f}".lstrip("0") for cell in cells]
            lines.append(f"| {f'**{model}**' if model in OURS else model} | " + " | ".join(shown) + " |")
            if model in OURS:
                differ = [_difference(cell, model) for cell in cells]
                lines.append("| from the best of the others | " + " | ".join(differ) + " |")
        lines.append("")
    return lines


def _difference(cell: dict[str, Any], model: str) -> str:
    low, high = cell["intervals"][model]
    return f"{cell['means'][model] - cell['means'][cell['best']]:+.4f} ({low:+.4f} to {high:+.4f})"


if __name__ == "__main__":
    main()
