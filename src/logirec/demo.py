"""What `./run demo` shows: a shop with known right answers, on its way through the product."""

from collections.abc import Callable
from pathlib import Path

from logirec.config import PrepareConfig
from logirec.data.audit import audit
from logirec.data.dataset import Dataset
from logirec.data.demo_shop import DemoShop
from logirec.data.prepare import Inputs, prepare
from logirec.errors import UsageError
from logirec.progress import Progress
from logirec.reports.tables import show_audit, show_baskets, show_dataset

MARK = "DEMO.txt"  # says that a folder is ours to overwrite


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


def run_demo(folder: Path, items: int, seed: int, files_only: bool, progress: Progress) -> None:
    shop = DemoShop(items, seed)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name another --out")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise UsageError(f"{folder} is there already and holds other files; name another --out")
    paths = write_shop(shop, folder, progress)
    if files_only:
        return
    out = folder / "dataset"
    report = prepare(Inputs(paths["products.jsonl"]), out, PrepareConfig(seed=seed), force=True, progress=progress)
    show_dataset(report, out)
    dataset = Dataset.load(out)
    show_audit(audit(dataset).as_json())
    titles = dict(zip(dataset.vocabulary.item_ids, dataset.descriptions["title"], strict=True))
    for heading, planted in (
        ("planted: what a single product calls for", shop.planted_singles(3)),
        ("planted: what only both products together call for", shop.planted_sets(3)),
    ):
        rows = [[[titles.get(i) or i for i in group] for group in example] for example in planted]
        show_baskets(heading, rows)
