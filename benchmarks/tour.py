"""Ten everyday baskets of a real shop, with what the model adds to them: makes docs/tour.md and its pictures.

    .venv/bin/python benchmarks/tour.py --data ../shared/data --work /tmp/tour

The shop is UCI's Online Retail: a year of orders of a gift shop, whose products have names. What is finished in WORK
is not made again.
"""

import argparse
from pathlib import Path
from urllib.parse import urlencode

from logirec.config import PrepareConfig, recipe
from logirec.data.dataset import Dataset
from logirec.data.prepare import Inputs, prepare
from logirec.fit import RunOptions, train
from logirec.model.artifact import ITEMS
from logirec.model.catalogue import Item, Search
from logirec.progress import for_terminal
from logirec.recommender.answers import Answer
from logirec.recommender.recommender import Recommender
from screenshots import DOCS, Shot, chromium, served, take

# Words that find each item of a basket.
BASKETS = (
    ["white hanging heart t-light"],
    ["regency cakestand", "green regency teacup"],
    ["alarm clock bakelike red"],
    ["lunch bag spaceboy", "dolly girl lunch box"],
    ["jumbo bag red retrospot"],
    ["set 3 cake tins pantry", "recipe box pantry"],
    ["star wooden christmas", "heart wooden christmas"],
    ["hand warmer red"],
    ["party bunting", "60 teatime fairy cake cases"],
    ["gardeners kneeling pad", "herb marker basil"],
)
PICTURES = {1: Shot("tour-desktop.png", 1280, 900, "light", 1.25), 5: Shot("tour-phone.png", 390, 844, "light", 2)}
TOP_K = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the raw datasets")
    parser.add_argument("--work", type=Path, required=True, help="folder for the dataset and the model")
    given = parser.parse_args()
    model = trained(given.data / "uci_online_retail", given.work)
    words, recommender = Search(model / ITEMS), Recommender.load(model)
    baskets = [[words.find(text, 1)[0] for text in basket] for basket in BASKETS]
    answers = [recommender.recommend([item.item_id for item in basket], TOP_K) for basket in baskets]
    with served(model) as address, chromium() as browser:
        for at, shot in PICTURES.items():
            fragment = urlencode([("item", item.item_id) for item in baskets[at]])
            take(browser, f"{address}/#{fragment}", shot, DOCS)
    (DOCS / "tour.md").write_text(page(baskets, answers, recommender), encoding="utf-8")


def trained(source: Path, work: Path) -> Path:
    dataset, model, progress = work / "dataset", work / "model", for_terminal(quiet=False)
    if not dataset.exists():
        prepare(Inputs(source), dataset, PrepareConfig(protocol="baskets"), progress=progress)
    if not model.exists():
        train(Dataset.load(dataset), model, recipe("default", "hybrid", 0), RunOptions(force=True), progress)
    return model


def page(baskets: list[list[Item]], answers: list[Answer], recommender: Recommender) -> str:
    test = recommender.trained.metrics["test"]
    figures = ", ".join(f"{kind} {test[kind]['filtered']['mrr']:.3f}" for kind in test)
    lines = [
        "# A tour of a real shop",
        "",
        "Ten baskets of UCI's Online Retail (a year of orders of a British gift shop), asked of a model that preset "
        f"`default` made of its first 70 % of orders ({len(recommender.trained.catalogue):,} products; MRR on later "
        f"baskets: {figures}). Made by `benchmarks/tour.py`; nothing is picked or left out. In brackets how sure it "
        "is: the chance that the one item hidden from such a basket is this one.",
        "",
        "![The page with a cake stand and a teacup in the basket](tour-desktop.png)",
        "",
        "| basket | goes with it |",
        "|---|---|",
    ]
    for basket, answer in zip(baskets, answers, strict=True):
        held = "<br>".join(_name(item.title) for item in basket)
        lines.append(f"| {held} | {'<br>'.join(f'{_name(one.title)} ({one.confidence or 0:.1%})' for one in answer)} |")
    lines += ["", "![The same on a phone: cake tins and a recipe box](tour-phone.png)", ""]
    return "\n".join(lines)


def _name(title: str | None) -> str:
    return " ".join((title or "").split()).capitalize().replace("|", "/")


if __name__ == "__main__":
    main()
