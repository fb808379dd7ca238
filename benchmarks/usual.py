"""What each table of evidence counts on validation, the mean over datasets: makes src/logirec/evidence/usual.py.

    .venv/bin/python benchmarks/usual.py --work /tmp/leaderboard

Needs the prepared datasets of benchmarks/leaderboard.py in WORK. Trains preset `best` on each (what is finished,
WORK/usual/NAME.json, is not made again) and fits the weights of its evidence with nothing usual to stay near.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from logirec import fit
from logirec.config import recipe
from logirec.data.dataset import Dataset
from logirec.data.query_sets import KINDS, Kind
from logirec.evidence import gathering
from logirec.evidence.fitting import Belief, fitted
from logirec.evidence.sources import said
from logirec.evidence.tables import best_ease, tables_of
from logirec.evidence.weighing import CURVES, Places, Weighing
from logirec.progress import for_terminal

PAGE = Path(gathering.__file__).with_name("usual.py")
DATASETS = ("gift-cards", "magazines", "office", "grocery", "video-games")
ALONE = "opinions"  # what only preset `best` has: the others' weights are those without it
HEAD = '''"""What each table of evidence usually counts through each curve of places.py, for single items and sets.

Made by benchmarks/usual.py, the mean over {datasets}.
A shop with few queries of its own stays near this.
"""

from logirec.data.query_sets import Kind

USUAL: dict[Kind, dict[str, tuple[float, float, float]]] = '''


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of the prepared datasets and results")
    parser.add_argument("--datasets", nargs="*", choices=DATASETS, default=DATASETS, help="none: only the mean")
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    folder = arguments.work / "usual"
    folder.mkdir(exist_ok=True)
    for name in arguments.datasets:
        if not (folder / f"{name}.json").exists():
            run(arguments.work / name, folder / name, arguments.device)
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    PAGE.write_text(page(found, [path.stem for path in sorted(folder.glob("*.json"))]), encoding="utf-8")
    print(f"wrote {PAGE}")


def run(dataset: Path, out: Path, device: str) -> None:
    """The weights of one dataset's tables, written when its models are trained."""
    found: dict[str, Any] = {}

    def gathered(model: Any, learnt: Dataset, asked: Any, alike: Any, others: Any, filtered: bool) -> Any:
        how = best_ease(learnt, asked, model.raw_items.device.type)
        tables = tables_of(learnt, how, others)
        for kind in KINDS:
            found[kind] = weights(model, asked[kind], {n: t for n, t in tables[kind].items() if n != ALONE}, kind)
            found[kind][ALONE] = weights(model, asked[kind], tables[kind], kind)[ALONE]
        out.with_suffix(".json").write_text(json.dumps(found) + "\n")
        return gathering.gathered(model, learnt, asked, alike, others, filtered)

    fit.gathered_evidence = gathered
    fit.train(Dataset.load(dataset), out, recipe("best"), fit.RunOptions(device, force=True), for_terminal(quiet=False))


def weights(model: Any, asked: Any, tables: dict[str, Any], kind: Kind) -> dict[str, list[float]]:
    place = Places(list(tables.values()))
    entries = Weighing(model, asked, place).entries(said(place, tables, kind == "high"))
    found, _ = fitted(entries, True, Belief.small(entries.features.shape[1]))
    return dict(zip(tables, found.reshape(-1, len(CURVES)).tolist(), strict=True))


def page(found: list[dict[str, Any]], names: list[str]) -> str:
    lines = []
    for kind in KINDS:
        lines.append(f'    "{kind}": {{')
        for table in found[0][kind]:
            mean = np.mean([one[kind][table] for one in found], axis=0)
            lines.append(f'        "{table}": ({", ".join(f"{weight:.2f}" for weight in mean)}),')
        lines.append("    },")
    return HEAD.format(datasets=", ".join(names)) + "{\n" + "\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
