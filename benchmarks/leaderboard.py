"""Every model on every dataset: makes docs/leaderboard.md.

    .venv/bin/python benchmarks/leaderboard.py --data ../shared/data --work /tmp/leaderboard

Prepares each dataset, compares all models on it (`logirec compare`; what is finished is not made again) and writes the
page. Models that need a GPU are run where there is one; results that a GPU machine has left in WORK/NAME.compare count.
"""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from logirec.compare import NAMES, NEEDS_GPU, CompareOptions, compare
from logirec.config import PrepareConfig, Protocol
from logirec.data.dataset import Dataset
from logirec.data.prepare import Inputs, prepare
from logirec.fit import choose_device
from logirec.progress import for_terminal

DOCS = Path(__file__).parent.parent / "docs"


class Source(NamedTuple):
    title: str
    folder: str
    interactions: str | None = None
    protocol: Protocol | None = None
    says: str = ""


SOURCES = {
    "released": Source(
        "Gift Cards, as the paper's authors released it",
        "logirec_gift_cards_released",
        "amazon2018_gift_cards/Gift_Cards_5.json.gz",
        says="97 to 99 % of the test queries are training queries; raw ranking leaves their known answers in.",
    ),
    "gift-cards": Source(
        "Gift Cards (Amazon 2018)", "amazon2018_gift_cards", "amazon2018_gift_cards/Gift_Cards_5.json.gz"
    ),
    "magazines": Source(
        "Magazine Subscriptions (Amazon 2018)",
        "amazon2018_magazine_subscriptions",
        "amazon2018_magazine_subscriptions/Magazine_Subscriptions.csv",
    ),
    "office": Source("Office Products (Amazon 2014)", "amazon2014_rechorus_office"),
    "grocery": Source("Grocery (Amazon 2014)", "amazon2014_rechorus_grocery"),
    "video-games": Source("Video Games (Amazon 2014)", "amazon2014_rechorus_video_games"),
    "instacart": Source("Instacart baskets", "instacart_train_orders", protocol="baskets"),
    "online-retail": Source("Online Retail (UCI) baskets", "uci_online_retail", protocol="baskets"),
    "groceries": Source("Groceries baskets", "groceries_arules", protocol="baskets"),
}

# Hit@3, NDCG@3 (its own), MRR on Gift Cards as the paper prints them; low, high.
PAPER = {
    "CF": (".009 / .005 / .024", ".029 / .015 / .052"),
    "MF": (".011 / .006 / .024", ".044 / .025 / .065"),
    "Knowledge-Aware": (".009 / .004 / .025", ".042 / .024 / .061"),
    "LightGCN": (".119 / .047 / .074", ".054 / .037 / .079"),
    "LogiRec Low": (".121 / .088 / .129", ".060 / .045 / .068"),
    "LogiRec High": (".027 / .021 / .030", ".192 / .136 / .197"),
    "LogiRec Hybrid": (".155 / .110 / .149", ".256 / .184 / .241"),
}
METRICS = ("hit@3", "ndcg@3", "mrr", "hit@10")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the raw datasets")
    parser.add_argument("--work", type=Path, required=True, help="folder for prepared datasets and results")
    parser.add_argument("--datasets", nargs="+", choices=SOURCES, default=list(SOURCES))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=DOCS / "leaderboard.md")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    results = {name: run(name, SOURCES[name], arguments) for name in arguments.datasets}
    arguments.out.write_text(page(results), encoding="utf-8")
    print(f"wrote {arguments.out}")


def run(name: str, source: Source, arguments: argparse.Namespace) -> dict[str, Any]:
    folder = arguments.work / name
    progress = for_terminal(quiet=False)
    if not folder.exists():
        interactions = arguments.data / source.interactions if source.interactions else None
        inputs = Inputs(arguments.data / source.folder, interactions=interactions)
        prepare(inputs, folder, PrepareConfig(protocol=source.protocol), progress=progress)
    has_gpu = choose_device(arguments.device).type == "cuda"
    made = folder.with_name(f"{name}.compare")
    models = tuple(n for n in NAMES if n not in NEEDS_GPU or has_gpu or (made / f"{n}.json").exists())
    options = CompareOptions(models, arguments.seed, device=arguments.device)
    return compare(Dataset.load(folder), options, progress)


# The page ----------------------------------------------------------------------------------------------------------


def page(results: dict[str, dict[str, Any]]) -> str:
    parts = [
        "# Leaderboard",
        "Made by `benchmarks/leaderboard.py --data DATA --work WORK`, with seed 0 for splits and models. Every row "
        "can be made again by itself: `logirec prepare DATA/... --out DATASET` as given below, then `logirec compare "
        "DATASET --models ROW --seed 0`. Settings of each model were chosen on validation among at most six "
        "(`logirec compare` says which).",
        "Hit@3 / NDCG@3 / MRR / Hit@10 on test, over at most 5,000 queries of each kind, the whole catalogue ranked. "
        "After it, the difference in MRR from the best baseline with its 95 % interval, paired by query. Bold: ours. "
        "An interval that leaves out zero is a difference that another draw of queries would hardly turn round.",
    ]
    for name, result in results.items():
        parts += section(name, SOURCES[name], result)
    return "\n\n".join(parts) + "\n"


def section(name: str, source: Source, result: dict[str, Any]) -> list[str]:
    data = result["dataset"]
    options = f" --interactions DATA/{source.interactions}" if source.interactions else ""
    options += f" --protocol {source.protocol}" if source.protocol else ""
    parts = [
        f"## {source.title}",
        f"`logirec prepare DATA/{source.folder} --out {name}{options}`: protocol {data['protocol']}, "
        f"{data['items']:,} items. {source.says}".strip(),
    ]
    if name == "released":
        parts += [
            "Raw, with NDCG@3 as the paper computes it: Hit@3 / NDCG@3 / MRR. The paper's table, then ours.",
            table(["the paper", "low", "high"], [[who, *figures] for who, figures in PAPER.items()]),
            raw_table(result),
            "Filtered:",
        ]
    parts.append(filtered_table(result))
    if data["protocol"] == "baskets":
        parts += ["MRR by number of items in the basket:", by_size(result)]
    if result["left_out"]:
        parts.append("Left out: " + "; ".join(f"{model} ({why})" for model, why in result["left_out"].items()) + ".")
    return parts


def filtered_table(result: dict[str, Any]) -> str:
    kinds = [kind for kind in ("low", "high") if kind in result["against_best_baseline"]]
    counts = {kind: next(iter(result["models"].values()))[kind]["filtered"]["queries"] for kind in kinds}
    head = ["model"]
    for kind in kinds:
        head += [f"{kind} ({counts[kind]:,} queries)", "MRR from the best baseline"]
    rows = []
    for model in ordered(result, "filtered", kinds):
        row = [shown(model)]
        for kind in kinds:
            row += [figures(result["models"][model][kind]["filtered"], METRICS), against(result, kind, model)]
        rows.append(row)
    return table(head, rows)


def raw_table(result: dict[str, Any]) -> str:
    kinds = ("low", "high")
    metrics = ("hit@3", "ndcg_paper@3", "mrr")
    rows = [
        [shown(model), *(figures(result["models"][model][kind]["raw"], metrics) for kind in kinds)]
        for model in ordered(result, "raw", kinds)
    ]
    return table(["ours, raw", *kinds], rows)


def by_size(result: dict[str, Any], largest: int = 5) -> str:
    sizes = [str(size) for size in range(1, largest + 1)]
    rows = []
    for model in ordered(result, "filtered", ("low", "high")):
        groups: dict[str, Any] = {}
        for kind in ("low", "high"):
            groups |= result["models"][model][kind]["filtered"]["groups"]["basket_size"]
        rows.append([shown(model), *(f"{groups[size]['mrr']:.3f}"[1:] if size in groups else "" for size in sizes)])
    return table(["model", *(f"{size}" for size in sizes)], rows)


def ordered(result: dict[str, Any], ranking: str, kinds: Any) -> list[str]:
    models = result["models"]
    return sorted(models, key=lambda model: -sum(models[model][kind][ranking]["mrr"] for kind in kinds))


def shown(model: str) -> str:
    return f"**{model}**" if model.startswith("logirec") else model


def figures(found: dict[str, Any], metrics: tuple[str, ...]) -> str:
    return " / ".join(f"{found[metric]:.3f}".removeprefix("0") for metric in metrics)


def against(result: dict[str, Any], kind: str, model: str) -> str:
    paired = result["against_best_baseline"][kind]["filtered"]["mrr"]
    if paired["best"] == model:
        return "best baseline"
    found = paired["differences"][model]
    low, high = found["interval"]
    return f"{found['difference']:+.3f} ({low:+.3f} to {high:+.3f})"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
