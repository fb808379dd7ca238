"""Items without a link in training, in four shops: makes docs/new-items.md.

    .venv/bin/python benchmarks/new_items.py --data ../shared/data --work /tmp/leaderboard

Prepares each shop with protocol `cold-items` and several seeds, compares a few models on it (`logirec compare`; what is
finished is not made again, also by another machine), adds the figures to benchmarks/new_items.json and writes the page
from there. Beside them stands what `default` has on the usual split (benchmarks/leaderboard.json).
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from logirec.compare import CompareOptions, compare, finished
from logirec.config import PrepareConfig
from logirec.data.dataset import Dataset
from logirec.data.prepare import Inputs, prepare
from logirec.progress import for_terminal

RECORD = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parent.parent / "docs" / "new-items.md"
WARM = RECORD.with_name("leaderboard.json")
# name there -> title, folder, seeds, what is known of an item without links
SHOPS = {
    "office": ("Office", "amazon2014_rechorus_office", range(6), "titles, brands, categories, customers"),
    "grocery": ("Grocery", "amazon2014_rechorus_grocery", range(2), "coarse categories, customers"),
    "video-games": ("Video Games", "amazon2014_rechorus_video_games", range(1), "coarse categories, customers"),
    "online-retail-links": ("Online Retail, links of orders", "uci_online_retail", range(3), "titles"),
}
MODELS = ("popularity", "cf", "ease", "logirec-default", "logirec-best")
KINDS = ("low", "high")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the raw datasets")
    parser.add_argument("--work", type=Path, required=True, help="folder for prepared datasets and results")
    parser.add_argument("--shops", nargs="*", choices=SHOPS, default=list(SHOPS), help="none: only the page")
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS), help="beside those finished")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for name in arguments.shops:
        for seed in SHOPS[name][2]:
            record.setdefault(name, {})[str(seed)] = run(name, seed, arguments)
            RECORD.write_text(json.dumps(record, indent=1) + "\n")
    PAGE.write_text(page(record, json.loads(WARM.read_text())), encoding="utf-8")
    print(f"wrote {PAGE}")


def run(name: str, seed: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Model -> kind -> MRR and Hit@10, and chance: the mean of 1 / rank over all ranks there are."""
    folder, progress = arguments.work / f"{name}-new-{seed}", for_terminal(quiet=False)
    if not folder.exists():
        prepare(Inputs(arguments.data / SHOPS[name][1]), folder, PrepareConfig(protocol="cold-items", seed=seed))
    dataset = Dataset.load(folder)
    wanted = {*arguments.models, *finished(dataset, CompareOptions())}
    models = tuple(model for model in MODELS if model in wanted)
    result = compare(dataset, CompareOptions(models, device=arguments.device), progress)
    found: dict[str, Any] = {
        model: {kind: [round(one[kind]["filtered"][m], 4) for m in ("mrr", "hit@10")] for kind in KINDS}
        for model, one in result["models"].items()
    }
    chance = [round(float(np.mean(1 / np.arange(1, dataset.items + 1))), 4), round(10 / dataset.items, 4)]
    return {**found, "chance": dict.fromkeys(KINDS, chance)}


def page(record: dict[str, Any], warm: dict[str, Any]) -> str:
    lines = [
        "# New items",
        "",
        "Made by `benchmarks/new_items.py --data DATA --work WORK`: protocol `cold-items` ([data.md](data.md)), "
        "filtered, test, at most 5,000 queries of each kind, model seed 0. A tenth of the items has no link in "
        "training; each query asks about one of them, or for one. MRR and Hit@10 of low / high queries, the mean over "
        "splits. Share: of the MRR that `logirec-default` has on the usual split. What is known of an item without "
        "links stands beside the shop's name; `cf` needs customers' histories; chance is for one answer a query.",
        "",
    ]
    for name, splits in record.items():
        title, _, _, known = SHOPS[name]
        usual = [warm[name]["models"]["logirec-default"][kind]["filtered"]["mrr"] for kind in KINDS]
        lines += [f"## {title}: {known}", "", "| | splits | MRR | Hit@10 | share |", "|---|---|---|---|---|"]
        for model in (*MODELS[::-1], "chance"):
            there = [found[model] for found in splits.values() if model in found]
            if not there:
                continue
            mrr, hit = ([float(np.mean([one[kind][at] for one in there])) for kind in KINDS] for at in (0, 1))
            share = " / ".join(f"{own / base:.0%}".replace("%", " %") for own, base in zip(mrr, usual, strict=True))
            shown = f"**{model}**" if model.startswith("logirec") else model
            lines.append(f"| {shown} | {len(there)} | {_pair(mrr)} | {_pair(hit)} | {share} |")
        lines.append("")
        if len(splits) > 1:
            ours = (
                " / ".join(_short(found["logirec-default"][kind][0]) for kind in KINDS) for found in splits.values()
            )
            lines += [f"`logirec-default` by split: {', '.join(ours)}.", ""]
    return "\n".join(lines)


def _pair(values: list[float]) -> str:
    return " / ".join(map(_short, values))


def _short(value: float) -> str:
    return f"{value:.3f}".lstrip("0")


if __name__ == "__main__":
    main()
