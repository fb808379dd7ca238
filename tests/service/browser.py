"""A real browser for the page: Debian's Chromium, without a window, and nothing downloaded for it."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

BINARY, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
SECONDS = 15


def open_browser() -> Any:
    if BINARY is None or DRIVER is None:
        pytest.skip("no chromium and chromedriver here: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: it is in the dev extra")
    options = webdriver.ChromeOptions()
    options.binary_location = BINARY
    # Without motion: a card that is still appearing has no text yet, as the driver sees it.
    still = "--force-prefers-reduced-motion"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", still):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(DRIVER))


class Page:
    """What a person does with the page, in a few words."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser, self.address = browser, address

    def open(self, state: str = "") -> "Page":
        self.browser.get("about:blank")  # or another state would only be another place on the same page
        self.browser.get(f"{self.address}/{state}")
        self.until(lambda: self.all("#cards .card:not(.waiting)") or self.all("#examples button"))
        return self

    def run(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(script, *arguments)

    def cdp(self, command: str, **arguments: Any) -> Any:
        return self.browser.execute_cdp_cmd(command, arguments)

    def until(self, condition: Callable[[], Any]) -> Any:
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        waiting = WebDriverWait(self.browser, SECONDS, 0.02, [StaleElementReferenceException])
        return waiting.until(lambda _: condition())

    def all(self, selector: str) -> list[Any]:
        return self.browser.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        return self.until(lambda: next(iter(self.all(selector)), None))

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).innerText.trim()", selector)

    def texts(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)"
        return self.run(script, selector)

    def ids(self, selector: str) -> list[str]:
        script = "return [...document.querySelectorAll(arguments[0])].map((one) => one.dataset.item)"
        return self.run(script, selector)

    def click(self, selector: str) -> None:
        """Once; again only where the element was replaced before the click could reach it."""
        self.until(lambda: self.one(selector).click() is None)

    def press(self, *keys: str) -> None:
        """To whatever has the focus."""
        self.browser.switch_to.active_element.send_keys(*keys)

    def basket(self) -> list[str]:
        return self.ids("#basket li")

    def cards(self) -> list[str]:
        return self.ids("#cards .card:not(.waiting)")

    def settled(self) -> None:
        """The latest question is answered."""
        self.until(lambda: self.run("return document.querySelector('.answer').getAttribute('aria-busy')") == "false")

    def errors(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
