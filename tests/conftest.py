"""Shared worlds: a small demo shop in every protocol, and the command line in this process."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: two workers share two cores

from logirec.cli.main import main
from logirec.config import PrepareConfig, recipe
from logirec.data.dataset import Dataset
from logirec.data.demo_shop import DemoShop
from logirec.data.prepare import Inputs, prepare
from logirec.fit import train

# The same examples every time; HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile("same", derandomize=True, max_examples=100, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

REPOSITORY = Path(__file__).parent.parent
SHOP_ITEMS = 400


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cli(capsys, monkeypatch):
    """Run `logirec ...` and see its exit code and what it printed."""

    def run(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["logirec", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return Result(int(stop.value.code or 0), captured.out, captured.err)

    return run


@dataclass
class Shop:
    shop: DemoShop
    products: Path
    orders: Path
    views: Path


@pytest.fixture(scope="session")
def shop(tmp_path_factory) -> Shop:
    folder = tmp_path_factory.mktemp("shop")
    shop = DemoShop(SHOP_ITEMS, seed=5)
    made = Shop(shop, folder / "products.jsonl", folder / "orders.csv", folder / "views.csv")
    shop.write_products(made.products)
    shop.write_orders(made.orders)
    shop.write_views(made.views)
    return made


@pytest.fixture(scope="session")
def leak_free(shop, tmp_path_factory) -> Dataset:
    out = tmp_path_factory.mktemp("leak-free") / "dataset"
    prepare(Inputs(shop.products), out, PrepareConfig(basket_sizes=(2, 3, 4)))
    return Dataset.load(out)


@pytest.fixture(scope="session")
def trained_folder(leak_free, tmp_path_factory) -> Path:
    """A model of the small shop, good enough to have opinions."""
    out = tmp_path_factory.mktemp("trained") / "model"
    changes = {"model": {"dims": 16, "width": 32}, "training": {"max_steps": 150, "batch": 64}}
    train(leak_free, out, recipe("default", "hybrid", 0, changes))
    return out


@pytest.fixture(scope="session")
def paper(shop, tmp_path_factory) -> Dataset:
    out = tmp_path_factory.mktemp("paper") / "dataset"
    prepare(Inputs(shop.products), out, PrepareConfig(protocol="paper"))
    return Dataset.load(out)


@pytest.fixture(scope="session")
def cold_items(shop, tmp_path_factory) -> Dataset:
    out = tmp_path_factory.mktemp("cold-items") / "dataset"
    prepare(Inputs(shop.products), out, PrepareConfig(protocol="cold-items"))
    return Dataset.load(out)


@pytest.fixture(scope="session")
def baskets(shop, tmp_path_factory) -> Dataset:
    out = tmp_path_factory.mktemp("baskets") / "dataset"
    inputs = Inputs(shop.orders, views=shop.views, items=shop.products)
    prepare(inputs, out, PrepareConfig(protocol="baskets"))
    return Dataset.load(out)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real datasets; tests that use it are marked `data`."""
    folder = Path(os.environ.get("LOGIREC_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real datasets at {folder}; LOGIREC_DATA names another folder")
    return folder
