"""What `./run demo` shows: a shop with known right answers, on its way through the product."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from logirec.baselines.lookup import Lookup
from logirec.baselines.popularity import Popularity
from logirec.config import PrepareConfig, recipe
from logirec.data.audit import audit
from logirec.data.dataset import Dataset
from logirec.data.demo_shop import DemoShop, Planted
from logirec.data.prepare import Inputs, prepare
from logirec.data.query_sets import rectangle
from logirec.errors import UsageError
from logirec.evaluation.evaluate import evaluate
from logirec.fit import RunOptions, train
from logirec.index.scorer import Scorer
from logirec.model.artifact import TrainedModel
from logirec.progress import Progress
from logirec.reports.tables import show_audit, show_comparison, show_dataset, show_line, show_recommendations

MARK = "DEMO.txt"  # says that a folder is ours to overwrite
TOP_K = 5


def write_shop(shop: DemoShop, folder: Path, progress: Progress) -> dict[str, Path]:
    """products.jsonl (Amazon-style metadata), orders.csv and views.csv (what a shop's own database exports)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).write_text(f"Made by `logirec demo`, {shop.items} items, seed {shop.seed}. It may be replaced.\n")
    writers: dict[str, Callable[[Path], int]] = {
        "products.jsonl": shop.write_products,
        "orders.csv": shop.write_orders,
        "views.csv": shop.write_views,
    }
    paths = {name: folder / name for name in writers}
    for name, write in writers.items():
        with progress.task(f"writing {name}"):
            write(paths[name])
    return paths


def run_demo(folder: Path, items: int, seed: int, files_only: bool, progress: Progress) -> Path:
    """Where the model is, or would be."""
    shop = DemoShop(items, seed)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name another --out")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise UsageError(f"{folder} is there already and holds other files; name another --out")
    paths = write_shop(shop, folder, progress)
    out, model = folder / "dataset", folder / "model"
    if files_only:
        return model
    report = prepare(Inputs(paths["products.jsonl"]), out, PrepareConfig(seed=seed), force=True, progress=progress)
    show_dataset(report, out)
    dataset = Dataset.load(out)
    show_audit(audit(dataset).as_json())

    train(dataset, model, recipe("default", "hybrid", seed, {}), RunOptions(force=True), progress)
    trained = TrainedModel.load(model)
    scorer = Scorer(trained.model)
    rivals = {
        "popularity": Popularity().fit(dataset).scores,
        "looking up the links": Lookup().fit(dataset).scores,
        "LogiRec": scorer.scores,
    }
    with progress.task("evaluating on test"):
        show_comparison({name: evaluate(scores, dataset) for name, scores in rivals.items()})

    planted = [*shop.planted_singles(3), *shop.planted_sets(2)]
    show_recommendations(
        "five baskets, with what was planted for them", [_example(trained, scorer, basket) for basket in planted]
    )
    show_line(f"the model lies in {model}; its card is {model / 'README.md'}")
    show_line(f"its page opens with: ./run serve {model}")
    return model


class Example(NamedTuple):
    basket: list[str]  # titles
    recommended: list[str]
    planted: list[bool]  # which of them were


def _example(trained: TrainedModel, scorer: Scorer, planted: Planted) -> Example:
    ids = top_items(trained, scorer, planted.basket, TOP_K)
    return Example(
        _titles(trained, planted.basket), _titles(trained, ids), [item_id in planted.complements for item_id in ids]
    )


def top_items(trained: TrainedModel, scorer: Scorer, basket: Sequence[str], top_k: int) -> list[str]:
    """The best items that are not in the basket."""
    rows = trained.vocabulary.rows(basket)
    best = scorer.scores(rectangle(rows[None]))[0].cpu().numpy()
    best[rows] = -np.inf
    return trained.vocabulary.ids(np.argsort(-best, kind="stable")[:top_k])


def _titles(trained: TrainedModel, item_ids: Sequence[str]) -> list[str]:
    return [
        trained.catalogue.titles[row] or item_id
        for row, item_id in zip(trained.vocabulary.rows(item_ids), item_ids, strict=True)
    ]
