"""Catalogues too large for one inverse: what their tail gains by regressions of its own, what a large shop takes.

    .venv/bin/python benchmarks/large_shops.py --work /tmp/leaderboard
    .venv/bin/python benchmarks/large_shops.py --shop 100000

The first takes prepared datasets of benchmarks/leaderboard.py from WORK and lets the head be as small a share of the
items as 15,000 are of a larger catalogue. EASE alone, MRR of validation, single items / sets: head alone (the others
are left out), head and tail, all items in one inverse. The second trains preset `default` on a demo shop of so many
items for a few steps, so that what is timed is mostly its evidence.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from scipy import sparse

from logirec.baselines import ease
from logirec.data.dataset import Dataset
from logirec.data.demo_shop import DemoShop
from logirec.data.query_sets import KINDS
from logirec.evaluation.evaluate import mean_mrr, questions

DATASETS = ("office", "grocery", "video-games")
AS_IF = (30_000, 91_000, 400_000)  # items of the catalogue whose head would be 15,000
QUERIES = 2_000
STEPS = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, help="folder of the prepared datasets")
    parser.add_argument("--datasets", nargs="*", default=DATASETS)
    parser.add_argument("--shop", type=int, help="items of a demo shop to train on")
    given = parser.parse_args()
    if given.work is not None:
        print("| dataset | as if of | head alone | head and tail | all in one |\n|---|---|---|---|---|")
        for name in given.datasets:
            for line in heads(Dataset.load(given.work / name)):
                print(f"| {name} | {line} |", flush=True)
    if given.shop is not None:
        with tempfile.TemporaryDirectory() as folder:
            print(shop(given.shop, Path(folder)))


def heads(dataset: Dataset) -> Iterator[str]:
    whole = mrr(dataset, ease.Ease(beside=0.5).fit(dataset))
    for items in AS_IF:
        with patch.object(ease, "HEAD", dataset.items * ease.HEAD // items):
            both = mrr(dataset, ease.Ease(beside=0.5).fit(dataset))
            with without_tail():
                alone = mrr(dataset, ease.Ease(beside=0.5).fit(dataset))
        yield f"{items:,} | {alone} | {both} | {whole}"


@contextmanager
def without_tail() -> Iterator[None]:
    def nothing(self: ease.Ease, among: ease.Products) -> sparse.csr_array:
        items = among.sparse.shape[1]
        return sparse.csr_array((items, items), dtype="f4")

    with patch.object(ease.Ease, "_tail", nothing):
        yield


def mrr(dataset: Dataset, model: ease.Ease) -> str:
    asked = [questions(dataset, "valid", kind, QUERIES) for kind in KINDS]
    return " / ".join(f"{mean_mrr(model.scores, some, dataset.items):.3f}".lstrip("0") for some in asked)


def shop(items: int, folder: Path) -> str:
    DemoShop(items, seed=1).write_products(folder / "products.jsonl")
    logirec = [sys.executable, "-m", "logirec"]
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run([*logirec, "prepare", folder / "products.jsonl", "--out", folder / "data"], **quiet)
    started = time.perf_counter()
    subprocess.run([*logirec, "train", folder / "data", "--out", folder / "model", "--max-steps", str(STEPS)], **quiet)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    return f"{items:,} items, {STEPS} steps: {time.perf_counter() - started:.0f} s, {peak:,} MB"


if __name__ == "__main__":
    main()
