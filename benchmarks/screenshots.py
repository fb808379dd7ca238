"""The pictures of the page in docs/, from a trained demo: python benchmarks/screenshots.py demo/model

Needs Chromium and its driver, and the packages of the `dev` extra.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from logirec.recommender.recommender import Recommender

DOCS = Path(__file__).parent.parent / "docs"
LARGEST = 300_000  # bytes of a picture


class Shot(NamedTuple):
    name: str
    width: int
    height: int
    scheme: str
    sharpness: float


SHOTS = (
    Shot("page-desktop.png", 1280, 900, "light", 1.25),
    Shot("page-dark.png", 1280, 900, "dark", 1.25),
    Shot("page-phone.png", 390, 844, "light", 2),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="what `./run demo` trained")
    parser.add_argument("--out", type=Path, default=DOCS)
    given = parser.parse_args()
    basket = example_basket(Recommender.load(given.model))
    with served(given.model) as address, chromium() as browser:
        for shot in SHOTS:
            take(browser, f"{address}/#{urlencode([('item', item_id) for item_id in basket])}", shot, given.out)


def example_basket(recommender: Recommender) -> list[str]:
    """An espresso machine and a grinder of one series: what only who has both needs should come first."""
    catalogue = recommender.trained.catalogue
    kinds = {}
    for row in range(len(catalogue)):
        item = catalogue.item(row)
        for kind in ("Aurora Espresso Machine", "Aurora Coffee Grinder"):
            if item.title and item.title.endswith(kind):
                kinds.setdefault(kind, item.item_id)
    return list(kinds.values())


def take(browser: Any, address: str, shot: Shot, out: Path) -> None:
    metrics = {"width": shot.width, "height": shot.height, "deviceScaleFactor": shot.sharpness, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    wanted = [
        {"name": "prefers-color-scheme", "value": shot.scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})
    browser.get("about:blank")
    browser.get(address)
    settled = "return document.querySelectorAll('.card .bar').length > 3 && !!document.querySelector('.facts dd')"
    WebDriverWait(browser, 20).until(lambda page: page.execute_script(settled))
    path = out / shot.name
    browser.save_screenshot(str(path))
    size = path.stat().st_size
    print(f"{path}: {size:,} bytes")
    assert size < LARGEST, "too large for a document"


@contextmanager
def served(model: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "logirec", "serve", str(model), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            yield server.stderr.readline().split()[-1]
        finally:
            server.terminate()


@contextmanager
def chromium() -> Iterator[Any]:
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        sys.exit("chromium and chromedriver are needed: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
