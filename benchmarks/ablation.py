"""What each ingredient of preset `best` is worth, and what another seed changes: makes docs/ablation.md.

    .venv/bin/python benchmarks/ablation.py --work /tmp/leaderboard

Needs the prepared datasets of benchmarks/leaderboard.py in WORK, and its results there: for the best baseline, and for
the two presets themselves, which are rows here too. What is
finished (WORK/NAME.ablation) is not made again, so that several of these may share the work: `--only` names some of it.
The test queries are those of the leaderboard, so that all is paired by query.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from logirec.baselines.registry import BASELINES
from logirec.config import Recipe, recipe
from logirec.data.dataset import Dataset
from logirec.data.query_sets import KINDS
from logirec.evaluation.evaluate import questions, standings
from logirec.evaluation.metrics import intervals, per_query
from logirec.fit import RunOptions, choose_device, train
from logirec.index.scorer import Scorer
from logirec.model.artifact import TrainedModel
from logirec.progress import for_terminal

PAGE = Path(__file__).parent.parent / "docs" / "ablation.md"
RECORD = Path(__file__).with_suffix(".json")
OF_EVIDENCE = RECORD.with_name("ablation_evidence.json")  # by ablation_evidence.py
OF_SPLITS = RECORD.with_name("more_splits.json")  # by more_splits.py
TITLES = {
    "gift-cards": "Gift Cards",
    "magazines": "Magazine Subscriptions",
    "office": "Office",
    "grocery": "Grocery",
    "video-games": "Video Games",
}
METRICS = ("mrr", "hit@10")
TEST_QUERIES = 5_000
ROW_OF_ALL = "`default`"

# A member's seed is the model's plus its number: these share none.
BEST = {"best": 0, "best, seed 10": 10, "best, seed 20": 20}
WITHOUT: dict[str, dict[str, dict[str, object]]] = {
    "the other three models (`default`)": {"training": {"members": 1}},
    "evidence (and the others, which are heard through it)": {"model": {"evidence": False}, "training": {"members": 1}},
    "context": {"model": {"context": False}},
    "members' projections in a set's query": {"model": {"sets": "summary"}},
    "item bias": {"model": {"item_bias": False}},
    "links hidden while training": {"training": {"hidden": 0.0}},
    "baskets made from the links": {"training": {"set_batch": 0}},
    "plain links as queries": {"training": {"link_batch": 0}},
    "averaged weights": {"training": {"average": 0.0}},
}
ON_THE_LEADERBOARD = {"best": "logirec-best", "the other three models (`default`)": "logirec-default"}
RECIPES: dict[str, Recipe] = {name: recipe("best", "hybrid", seed) for name, seed in BEST.items()}
RECIPES |= {name: recipe("best", "hybrid", 0, changes) for name, changes in WITHOUT.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of the prepared datasets and results")
    parser.add_argument("--only", nargs="*", metavar="DATASET:ROW", help="ROW by its number; none: only the page")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--note", help="a line for the page, kept until another is given")
    arguments = parser.parse_args()
    rows = list(RECIPES)
    every = [f"{name}:{row}" for name in TITLES for row in range(len(rows))]
    for name, row in (one.split(":") for one in (every if arguments.only is None else arguments.only)):
        run(arguments.work, name, rows[int(row)], int(row), arguments.device)
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if arguments.note is not None:
        record["note"] = arguments.note
    for name in TITLES:
        if (found := figures(arguments.work, name)) is not None:
            record[name] = record.get(name, {}) | found  # rows that only another machine has run stay
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    PAGE.write_text(page(record), encoding="utf-8")
    print(f"wrote {PAGE}")


def run(work: Path, name: str, row: str, number: int, device: str) -> None:
    folder = work / f"{name}.ablation"
    folder.mkdir(exist_ok=True)
    kept, out = folder / f"{number}.npz", folder / f"model-{number}"
    if row in ON_THE_LEADERBOARD or kept.exists():
        return
    dataset, progress = Dataset.load(work / name), for_terminal(quiet=False)
    train(dataset, out, RECIPES[row], RunOptions(device, force=True), progress)
    scores = Scorer(TrainedModel.load(out, choose_device(device)).model).scores
    values: dict[str, np.ndarray] = {}
    for kind in KINDS:
        asked = questions(dataset, "test", kind, TEST_QUERIES)
        found = per_query(standings(scores, asked, dataset.items).filtered, asked.queries.answers)
        values |= {f"{kind}.{metric}": found[metric].astype(np.float32) for metric in METRICS}
    aside = kept.with_suffix(".part.npz")
    np.savez_compressed(aside, **values)  # type: ignore[arg-type]
    aside.replace(kept)


# Figures -----------------------------------------------------------------------------------------------------------


def figures(work: Path, name: str) -> dict[str, Any] | None:
    """row -> kind.metric -> figures; the three seeds of `best` together, with what they are compared with."""
    loaded = {row: _loaded(work, name, row, number) for number, row in enumerate(RECIPES)}
    loaded = {row: values for row, values in loaded.items() if values is not None}
    if not loaded:
        return None
    found: dict[str, Any] = {row: _means(values) for row, values in loaded.items()}
    seeds = [loaded[row] for row in BEST if row in loaded]
    rivals = [dict(np.load(path)) for path in (work / f"{name}.compare").glob("*.npz") if path.stem in BASELINES]
    if len(seeds) < len(BEST) or not rivals:
        return found
    found["all seeds"] = {}
    for column in (f"{kind}.{metric}" for kind in KINDS for metric in METRICS):
        mean = np.mean([values[column].astype(float) for values in seeds], axis=0)
        rival = max((values[column.replace(".", ".filtered.")].astype(float) for values in rivals), key=np.mean)
        found["all seeds"][column] = {
            "mean": float(mean.mean()),
            "spread": float(np.std([values[column].mean() for values in seeds], ddof=1)),
            "baseline": float(rival.mean()),
            "interval": list(intervals({"": mean - rival})[""]),
        }
    return found


def _loaded(work: Path, name: str, row: str, number: int) -> dict[str, np.ndarray] | None:
    """kind.metric -> by query."""
    ours = ON_THE_LEADERBOARD.get(row)
    path = work / f"{name}.compare" / f"{ours}.npz" if ours else work / f"{name}.ablation" / f"{number}.npz"
    if not path.exists():
        return None
    found = np.load(path)
    between = ".filtered." if ours else "."
    return {f"{kind}.{metric}": found[f"{kind}{between}{metric}"] for kind in KINDS for metric in METRICS}


def _means(values: dict[str, np.ndarray]) -> dict[str, float]:
    return {column: float(found.mean()) for column, found in values.items()}


# The page ----------------------------------------------------------------------------------------------------------


def page(record: dict[str, Any]) -> str:
    parts = [
        "# Three seeds, and what each ingredient is worth",
        "Made by `benchmarks/ablation.py --work WORK` after `benchmarks/leaderboard.py`: leak-free, filtered, test, "
        f"the leaderboard's queries ({TEST_QUERIES:,} of a kind at most). Split seed 0.",
        record.get("note", ""),
        "## `best` over three seeds",
        "Seeds 0, 10 and 20, which share no model. The interval is of the mean's difference from the best baseline of "
        "that column, paired by query (95 %); the spread is the standard deviation between seeds.",
        _seeds(record),
        "## Without an ingredient",
        "`best`, seed 0, each time without one thing. MRR low / high.",
        _without(record),
        "## Without a part of the evidence",
        "Made by `benchmarks/ablation_evidence.py --work WORK`: `default`, seed 0, trained on two CPU cores. The model "
        "stays; its evidence is made again each time without one thing, its weights fitted and chosen anew on "
        "validation. MRR low / high; a star where the difference's 95 % interval, paired by query, leaves out zero. "
        "Some rows lose more than they say: usual weights are of all logarithms, and where the table of known links is "
        "gone no link speaks alone.",
        _parts(json.loads(OF_EVIDENCE.read_text())) if OF_EVIDENCE.exists() else "Not run yet.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _seeds(record: dict[str, Any]) -> str:
    rows: list[str] = []
    ratios: dict[tuple[str, str], float] = {}
    for name, title in TITLES.items():
        for column, found in record.get(name, {}).get("all seeds", {}).items():
            kind, metric = column.split(".")
            low, high = found["interval"]
            ratio = found["mean"] / found["baseline"]
            if metric == "mrr":
                ratios[name, kind] = ratio
            figures = f"{_short(found['mean'])} | {_short(found['spread'])} | {_short(found['baseline'])} | {ratio:.3f}"
            rows.append(f"| {title} | {kind} | {_shown(metric)} | {figures} | {low:+.3f} to {high:+.3f} |")
    head = "| dataset | queries | metric | best | spread | best baseline | ratio | difference |\n" + "|---" * 8 + "|"
    if not rows:
        return "Not run yet."
    summary = f"MRR over the {len(ratios)} columns: {_over(ratios)}."
    if OF_SPLITS.exists():
        of_splits = _of_splits(json.loads(OF_SPLITS.read_text())["gift-cards"]["pooled"])
        shown = " and ".join(f"{ratio:.3f}" for ratio in of_splits.values())
        summary += (
            " Gift Cards' one split has too few queries to tell two percent: over ten others "
            f"([more-splits.md](more-splits.md)) `best` has {shown} times the best baseline's MRR, low and high. With "
            f"these in place of that split's: {_over(ratios | of_splits)}."
        )
    return "\n\n".join(["\n".join([head, *rows]), summary])


def _over(ratios: dict[tuple[str, str], float]) -> str:
    values = list(ratios.values())
    return f"{np.mean(values):.3f} times the best baseline's on average, {min(values):.3f} on the worst"


def _of_splits(columns: dict[str, Any]) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for kind, column in zip(KINDS, columns.values(), strict=True):
        means = column["mrr"]["means"]
        found["gift-cards", kind] = means["logirec-best"] / means[column["mrr"]["best"]]
    return found


def _without(record: dict[str, Any]) -> str:
    names = [name for name in TITLES if name in record]
    rows = [f"| | {' | '.join(TITLES[name] for name in names)} |", "|---" * (len(names) + 1) + "|"]
    for row in ("best", *WITHOUT):
        cells = [_cell(record[name].get(row)) for name in names]
        rows.append(f"| {'without ' if row in WITHOUT else ''}{row} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _parts(record: dict[str, Any]) -> str:
    names = [name for name in TITLES if name in record]
    rows = [f"| | {' | '.join(TITLES[name] for name in names)} |", "|---" * (len(names) + 1) + "|"]
    for row in (ROW_OF_ALL, *(row for row in record[names[0]] if row != ROW_OF_ALL)):
        cells = [_cell(record[name][row], starred=row != ROW_OF_ALL) for name in names]
        rows.append(f"| {row if row == ROW_OF_ALL else f'without {row}'} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cell(found: dict[str, Any] | None, starred: bool = False) -> str:
    if found is None:
        return ""
    stars = {kind: "*" if starred and _apart(*found[f"{kind}.from"]) else "" for kind in KINDS}
    return " / ".join(_short(found[f"{kind}.mrr"]) + stars[kind] for kind in KINDS)


def _apart(low: float, high: float) -> bool:
    """Whether an interval leaves out zero."""
    return low > 0 or high < 0


def _shown(metric: str) -> str:
    return {"mrr": "MRR", "hit@10": "Hit@10"}[metric]


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


if __name__ == "__main__":
    main()
