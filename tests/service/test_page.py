"""The page in a real browser, on the real service: one test for each thing it does."""

import itertools
import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
import uvicorn
from starlette.testclient import TestClient

from logirec.config import ServiceConfig
from logirec.folders import MANIFEST, write_manifest
from logirec.model.artifact import ITEMS, KIND, SCHEMA
from logirec.model.catalogue import Catalogue
from logirec.service.app import create_app
from logirec.service.models import Models
from logirec.service.origin import origin
from tests.service.browser import Page, open_browser

pytestmark = pytest.mark.xdist_group("page")  # one browser for all of them
KEY = "a-key-of-some-length"
MARKUP = '<img src=x onerror="document.title=\'broken\'"><b>Bold</b> & "quoted"'


@contextmanager
def serving(models: Models, key: str | None = None) -> Iterator[str]:
    """The service in a thread, on a free port."""
    config = uvicorn.Config(create_app(models, ServiceConfig(), key), port=0, log_config=None, lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            thread.join(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def models(trained_folder):
    return Models(trained_folder)


@pytest.fixture(scope="module")
def address(models):
    with serving(models) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    browser = open_browser()
    yield browser
    browser.quit()


@pytest.fixture
def page(browser, address):
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # what earlier tests left
    page = Page(browser, address)
    desk(page)
    yield page
    page.run("sessionStorage.clear()")
    page.cdp("Emulation.setEmulatedMedia", features=[])


def desk(page: Page, width: int = 1280, height: int = 900) -> None:
    page.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)


def asks(*item_ids: str) -> str:
    return "#" + "&".join(f"item={quote(item_id)}" for item_id in item_ids)


@pytest.fixture(scope="module")
def recommender(models):
    return models.current.recommender


@pytest.fixture(scope="module")
def pair(models):
    """Two items that have something to say."""
    first, second = models.current.first[:2]
    return first.item_id, second.item_id


@pytest.fixture(scope="module")
def with_substitute(recommender):
    """An item one of whose known substitutes would be recommended."""
    for item_id in recommender.shelf.vocabulary.item_ids:
        answer = recommender.recommend([item_id])
        if any(one.known for one in answer.removed):
            return item_id, answer
    raise AssertionError("no substitute is ever in the way")


# Asking -------------------------------------------------------------------------------------------------------------


def test_the_first_sight_offers_products_to_begin_with(page, models):
    page.open()
    assert page.text("#answer-title") == "Start with a product"
    shown = page.ids("#examples button")
    assert shown == [item.item_id for item in models.current.first[: len(shown)]]
    page.click("#examples button")
    page.until(page.cards)
    assert page.basket() == shown[:1]
    assert not page.one("#start").is_displayed()


def test_searching_lists_products_as_one_types(page, recommender):
    item = recommender.trained.catalogue.item(3)
    page.open()
    box = page.one("#search")
    box.send_keys(item.title[:-1])
    page.until(lambda: any(item.title in option.text for option in page.all("#found [role=option]")))
    assert box.get_attribute("aria-expanded") == "true"
    box.send_keys(" zzzz")
    page.until(lambda: page.text("#found") == "Nothing has these words")
    box.clear()
    box.send_keys(item.title)
    option = page.until(lambda: next((one for one in page.all("#found li .title") if one.text == item.title), None))
    option.click()
    page.until(page.cards)
    assert page.texts("#basket .title") == [item.title]
    assert box.get_attribute("value") == ""
    assert not page.one("#found").is_displayed()


def test_an_older_answer_never_takes_the_place_of_a_newer_one(page):
    page.open()
    page.run(
        """
        const real = window.fetch;  // the first search is answered last
        let held = true;
        window.answered = [];
        window.fetch = async (path, options) => {
          const late = held && path.includes("search=a");
          if (late) held = false;
          const answer = await real(path, late ? { ...options, signal: undefined } : options);
          if (late) await new Promise((go) => (window.letGo = go));
          window.answered.push(path);
          return answer;
        };
        """
    )
    box = page.one("#search")
    box.send_keys("a")
    page.until(lambda: page.run("return !!window.letGo"))
    box.send_keys("\ue003b")  # backspace
    page.until(lambda: page.run("return answered.some((path) => path.includes('search=b'))"))
    page.until(lambda: page.texts("#found [role=option]"))
    newer = page.texts("#found [role=option]")
    page.run("letGo()")
    page.until(lambda: page.run("return answered.some((path) => path.includes('search=a'))"))
    assert page.texts("#found [role=option]") == newer


def test_cards_show_confidence_reasons_and_uncertainty(page, recommender, pair):
    expected = recommender.recommend(pair)
    page.open(asks(*pair))
    assert page.cards() == [one.item_id for one in expected]
    assert page.text("#answer-status") == "10 products"
    for card, one in zip(page.all("#cards .card"), expected, strict=True):
        text = card.text
        assert one.title in text
        assert one.brand in text
        assert one.category.split(" > ")[-1] in text
        assert f"uncertainty {one.uncertainty:.2f}" in text
        assert percent(one.confidence) in card.find_element("css selector", ".confidence").text
        rows = card.find_elements("css selector", ".why li")
        assert [row.get_attribute("data-item") for row in rows] == [c.item_id for c in one.because.contributions]
        for row, contribution in zip(rows, one.because.contributions, strict=True):
            assert percent(contribution.share) in row.text
            assert ("bought together" in row.text) == contribution.bought_together
            track, filled = (row.find_element("css selector", one).size["width"] for one in (".bar", ".filled"))
            assert filled / track == pytest.approx(contribution.share, abs=0.02)


def percent(part: float) -> str:
    return "<1%" if 0 < part < 0.01 else f"{int(100 * part + 0.5)}%"


def test_a_card_goes_into_the_basket(page, pair, recommender):
    page.open(asks(pair[0]))
    best = page.cards()[0]
    page.click("#cards .card .primary")
    page.until(lambda: page.basket() == [pair[0], best])
    expected = [one.item_id for one in recommender.recommend([pair[0], best])]
    page.until(lambda: page.cards() == expected)


def test_substitutes_are_hidden_and_shown_by_the_switch(page, with_substitute, recommender):
    item_id, answer = with_substitute
    hidden = {one.item_id for one in answer.removed if one.known}
    page.open(asks(item_id))
    assert not hidden & set(page.cards())
    page.click("#removed summary")
    assert set(page.ids("#removed-items li")) == {one.item_id for one in answer.removed}
    assert "a known substitute" in page.text("#removed-items")
    page.click(".switch")
    expected = [one.item_id for one in recommender.recommend([item_id], without_substitutes=False)]
    assert hidden & set(expected)
    page.until(lambda: page.cards() == expected)
    page.click(".switch")
    page.until(lambda: page.cards() == [one.item_id for one in answer])


def test_what_was_removed_can_be_put_back(page, pair):
    page.open(asks(*pair))
    before = page.cards()
    page.click("#basket li .icon")
    page.until(lambda: page.basket() == [pair[1]])
    page.settled()
    assert page.cards() != before
    page.click(f"#gone-items [data-item='{pair[0]}']")
    page.until(lambda: page.cards() == before)  # order does not matter
    assert page.basket() == [pair[1], pair[0]]
    assert not page.one("#gone").is_displayed()
    page.click("#empty")
    page.until(lambda: page.text("#answer-title") == "Start with a product")
    assert set(page.ids("#gone-items button")) == set(pair)


def test_a_category_narrows_the_answers(page, pair, recommender):
    page.open(asks(pair[0]))
    category = recommender.recommend([pair[0]]).recommendations[2].category
    page.one(f"#category option[value='{category}']").click()
    expected = [one.item_id for one in recommender.recommend([pair[0]], categories=[category])]
    page.until(lambda: page.cards() == expected)


def test_notices_say_what_is_not_known_and_where_evidence_is_thin(page, pair, recommender, monkeypatch):
    page.open(asks(pair[0], "no such item"))
    assert page.text("#notices") == "Not in this catalogue, so left out: no such item"
    monkeypatch.setattr(type(recommender.shelf), "has_evidence", lambda self, rows: False)
    page.open(asks(pair[0]))
    assert page.text("#notices").startswith("Little to go on")
    page.browser.get("about:blank")
    page.browser.get(f"{page.address}/{asks('no such item')}")
    page.until(lambda: page.text("#answer-title") == "No answer")
    assert "is not in the catalogue" in page.text("#notices")


# Both ways ----------------------------------------------------------------------------------------------------------


def test_a_pair_is_shown_both_ways_and_swapped(page, pair, recommender):
    page.open(asks(*pair))
    page.click("#compare")
    page.until(lambda: len(page.all(".way")) == 2)
    found = recommender.direction(*pair)
    there, back = f"score {found.forward:.2f}", f"score {found.backward:.2f}"
    assert [way.split("\n")[-1].split(" · ")[0] for way in ways(page)] == [there, back]
    assert percent(found.forward_confidence) in ways(page)[0]
    page.click("#swap")
    page.until(lambda: [way.split("\n")[-1].split(" · ")[0] for way in ways(page)] == [back, there])
    assert page.one("#first").get_property("value") == pair[1]
    page.click("#direction button[aria-label=Close]")
    page.until(lambda: not page.one("#direction").is_displayed())

    best = page.cards()[0]  # a basket item and a card
    page.click("#cards .card .link")
    page.until(lambda: len(page.all(".way")) == 2)
    assert page.one("#second").get_property("value") == best
    page.press("\ue00c")  # Escape
    page.until(lambda: not page.one("#direction").is_displayed())


def ways(page: Page) -> list[str]:
    return [way.text for way in page.all(".way")]


# Queries ------------------------------------------------------------------------------------------------------------


def test_a_query_is_written_with_errors_at_their_place(page, pair, recommender):
    page.open(asks(pair[0]))
    page.click(".modes label:nth-of-type(2)")
    box = page.one("#query")
    page.until(lambda: box.get_property("value") == f"complement({pair[0]}) & ~substitute({pair[0]})")
    box.clear()
    box.send_keys(f"complement({pair[0]} & )")
    page.until(lambda: page.one("#query-error").is_displayed())
    at = len(f"complement({pair[0]} & ")
    assert page.text("#query-place mark") == ")"
    assert page.text("#query-message") == f"Character {at + 1}: an item's id should be here"
    assert page.run("return document.querySelector('#query-place').firstChild.data.length") == at
    assert box.get_attribute("aria-invalid") == "true"
    box.send_keys("\ue003")
    box.send_keys(pair[1])
    page.until(lambda: page.text("#query-message").endswith(") should be here"))  # at the end
    box.send_keys(") | complement(😀")
    page.until(lambda: page.texts("#query-place mark") == ["😀"])  # counted in characters
    for _ in range(len(" | complement(😀")):
        box.send_keys("\ue003")
    from logirec.query import parse

    expected = recommender.recommend(query=parse(f"complement({pair[0]} & {pair[1]})"))
    page.until(lambda: page.cards() == [one.item_id for one in expected])
    assert not page.one("#query-error").is_displayed()
    page.until(lambda: page.texts("#named dt") == sorted(pair))
    page.click(".modes label:nth-of-type(1)")
    page.until(lambda: page.basket() == [pair[0]])


def test_products_and_signs_are_inserted_into_a_query(page, pair, recommender):
    page.open("#query=")
    assert page.one("#guide").is_displayed()
    box = page.one("#query")
    page.click("[data-sign='complement()']")
    for item_id in pair:
        page.one("#search").send_keys(item_id)
        page.until(lambda wanted=item_id: page.texts("#found .title")[:1] == [title(recommender, wanted)])
        page.press("\ue007")  # Enter
    assert box.get_property("value") == f"complement({pair[0]} & {pair[1]})"
    page.settled()
    page.run("arguments[0].setSelectionRange(999, 999)", box)
    page.click("#cards .card .primary")
    best = box.get_property("value").removeprefix(f"complement({pair[0]} & {pair[1]})")
    assert best.startswith(" & complement(")


def title(recommender, item_id: str) -> str:
    catalogue = recommender.trained.catalogue
    return catalogue.item(int(catalogue.vocabulary.rows([item_id])[0])).title


# The address --------------------------------------------------------------------------------------------------------


def test_a_link_shows_the_same_again(page, pair):
    page.open()
    page.click("#examples button")
    page.until(page.cards)
    page.click(".switch")
    page.settled()
    best = page.cards()[0]
    page.click("#cards .card .primary")
    page.until(lambda: best in page.basket())
    page.settled()
    state, cards, basket = urlsplit(page.browser.current_url).fragment, page.cards(), page.basket()
    page.open(f"#{state}")
    assert (page.cards(), page.basket()) == (cards, basket)
    assert page.one("#substitutes").is_selected() is False
    page.until(lambda: all(page.texts("#basket .where")))  # the words of items, not their ids
    page.open(f"#query={quote(f'complement({pair[0]})')}&item={pair[1]}")
    assert page.one("#query").get_property("value") == f"complement({pair[0]})"
    assert page.one("#query-mode").is_displayed()


def test_back_and_forward_follow_the_basket(page, pair):
    page.open(asks(pair[0]))
    first = page.cards()
    page.click("#cards .card .primary")
    page.until(lambda: len(page.basket()) == 2)
    page.settled()
    second = page.cards()
    page.browser.back()
    page.until(lambda: page.cards() == first)
    assert page.basket() == [pair[0]]
    page.browser.forward()
    page.until(lambda: page.cards() == second)


def test_the_link_is_copied(page, pair, address):
    page.cdp("Browser.grantPermissions", origin=address, permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    page.open(asks(*pair))
    page.click("#copy")
    page.until(lambda: page.text("#copy") == "Link copied")
    copied = page.browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    assert copied == page.browser.current_url


# What it tells ------------------------------------------------------------------------------------------------------


def test_the_model_panel_has_data_figures_and_dates(page, models, recommender):
    page.open()
    panel = page.one("#model")
    page.until(lambda: "Hit@10" in panel.text)
    text = panel.text
    run = json.loads((models.path / "run.json").read_text())
    assert Path(run["dataset"]["folder"]).parent.name in text
    assert str(Path(run["dataset"]["folder"]).parent) not in text  # paths are nobody's business
    assert f"{recommender.shelf.items} products" in text
    assert run["started"][:4] in text
    assert "Served since" in text
    for kind in ("low", "high"):
        found = recommender.trained.metrics["test"][kind]["filtered"]
        for name in ("hit@3", "ndcg@3", "mrr", "hit@10"):
            assert f"{found[name]:.3f}" in text


def called_otherwise(trained: Path, folder: Path, item_id: str, title: str) -> Models:
    """The model with items called so: `{}` is what each was called, or its row."""
    shutil.copytree(trained, folder)
    before = Catalogue.read(folder / ITEMS)
    (folder / ITEMS).unlink()
    ids = [item_id.format(one) for one in before.vocabulary.item_ids]
    titles = [title.format(row) for row in range(len(before))]
    Catalogue(ids, titles, [MARKUP] * len(ids), [MARKUP] * len(ids)).write(folder / ITEMS)
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).unlink()
    write_manifest(folder, KIND, SCHEMA, {name: manifest[name] for name in ("items", "dataset_sha256")})
    return Models(folder)


def test_a_not_names_items_whose_ids_need_quotes(browser, trained_folder, tmp_path, pair):
    models = called_otherwise(trained_folder, tmp_path / "model", 'an "id" {}', "Item number {}")
    asked = f'an "id" {pair[0]}'
    (row,) = models.current.recommender.shelf.rows([asked])
    with serving(models) as address:
        page = Page(browser, address).open(asks(asked))
        page.until(lambda: page.texts(".negation code"))
        assert set(page.texts(".negation code")) == {f"~substitute(Item number {row})"}


def test_markup_in_titles_is_shown_as_text(browser, trained_folder, tmp_path):
    with serving(called_otherwise(trained_folder, tmp_path / "model", "{}", f"{MARKUP} {{}}")) as address:
        page = Page(browser, address).open()
        page.one("#search").send_keys("bold 1")
        page.until(lambda: page.texts("#found .title"))
        assert all(title.startswith(MARKUP) for title in page.texts("#found .title"))
        page.press("\ue007")
        page.until(page.cards)
        page.click("#cards .card .primary")
        page.until(lambda: len(page.basket()) == 2)
        page.settled()
        page.click("#basket li .icon")
        page.settled()
        page.click("#cards .card .link")
        page.until(lambda: len(page.all(".way")) == 2)
        for place in ("#basket .title", "#cards h3", ".why .title", "#gone-items button", "#first option"):
            assert all(MARKUP in text for text in page.texts(place)), place
            assert page.texts(place), place
        assert page.browser.title == "LogiRec"
        assert not page.all("main img, main b, dialog img, dialog b")


def test_no_error_in_the_console_and_no_request_elsewhere(page, pair, address):
    page.open()
    page.one("#search").send_keys("a")
    page.until(lambda: page.texts("#found .title"))
    page.press("\ue007")
    page.until(page.cards)
    page.click("#cards .card .link")
    page.until(lambda: len(page.all(".way")) == 2)
    page.click("#direction button[aria-label=Close]")
    page.click(".modes label:nth-of-type(2)")
    page.until(page.cards)
    page.until(lambda: page.texts("#named dt"))
    assert page.errors() == []
    events = [json.loads(entry["message"])["message"] for entry in page.browser.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    asked = [url for url in asked if not url.startswith("about:")]
    assert len(asked) > 10
    assert {url.split("/")[2] for url in asked} == {urlsplit(address).netloc}


# For everybody ------------------------------------------------------------------------------------------------------


def test_everything_can_be_done_with_the_keyboard(page, pair):
    tab, enter, space, down = "\ue004", "\ue007", "\ue00d", "\ue015"
    page.open()
    page.press(tab)
    assert focus(page) == "skip"
    reach(page, tab, "search")
    page.press("e")
    page.until(lambda: len(page.all("#found [role=option]")) > 1)
    page.press(down)
    assert page.run("return document.activeElement.getAttribute('aria-activedescendant')") == "found-1"
    wanted = page.texts("#found .title")[1]
    page.press(enter)
    page.until(page.cards)
    assert page.texts("#basket .title") == [wanted]
    assert focus(page) == "search"
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert page.run(outline) == "solid"  # one sees where one is

    reach(page, tab, "substitutes")
    page.press(space)
    page.until(lambda: "substitutes=shown" in page.browser.current_url)
    page.settled()
    reach(page, tab, "Add to basket")
    page.press(enter)
    page.until(lambda: len(page.basket()) == 2)
    page.settled()
    page.until(lambda: focus(page) == "answer-title")  # the card is gone; its place is not lost
    reach(page, "\ue008" + tab, "Remove ")
    page.press("\ue000", enter)
    page.until(lambda: len(page.basket()) == 1)
    assert focus(page).startswith("Remove ")  # the next one
    page.press(enter)
    page.until(lambda: not page.basket())
    assert focus(page) == "search"


def focus(page: Page) -> str:
    return page.run("const on = document.activeElement; return on.ariaLabel || on.id || on.tagName")


def reach(page: Page, key: str, name: str) -> None:
    for _ in range(40):
        page.press(key)
        if focus(page).startswith(name):
            return
    raise AssertionError(f"{name} cannot be reached")


def test_what_a_screen_reader_is_told(page, pair):
    page.open(asks(*pair))
    page.until(lambda: page.texts("#model-facts dd"))
    nameless = """
      const shown = (one) => one.checkVisibility();
      const named = (one) => one.ariaLabel || one.textContent.trim() || one.labels?.length;
      return [...document.querySelectorAll("button, input, select, textarea")]
        .filter((one) => shown(one) && !named(one)).map((one) => one.outerHTML)"""
    assert page.run(nameless) == []
    assert page.run("return document.querySelector('#answer-status').role") == "status"
    assert page.run("return document.documentElement.lang") == "en"
    ids = page.run("return [...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))


def test_the_largest_share_stays_in_its_column(page, pair):
    page.open(asks(*pair))
    page.until(lambda: page.all(".share"))
    over = """const share = document.querySelector(".share"); share.textContent = "100%";
        return share.scrollWidth - share.clientWidth"""
    assert page.run(over) <= 0


@pytest.mark.parametrize("state", ["", "basket", "query"])
def test_a_phone_never_scrolls_sideways(page, pair, state):
    desk(page, 320, 640)
    page.open({"": "", "basket": asks(*pair), "query": f"#query=complement({pair[0]})"}[state])
    page.until(lambda: page.texts("#model-facts dd"))
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.run(wide) == 0
    if state == "basket":
        page.click("#compare")
        page.until(lambda: len(page.all(".way")) == 2)
        assert page.run("return document.querySelector('#direction').getBoundingClientRect().right") <= 320


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_themes(page, with_substitute, scheme):
    page.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    page.open(asks(with_substitute[0], "no such item"))
    page.until(lambda: page.texts("#model-facts dd"))
    paper = luminance(page.run("return getComputedStyle(document.body).backgroundColor"))
    assert (paper < 0.1) == (scheme == "dark")
    pairs = page.run(
        """
        const under = (one) => {  // the first ground that is painted
          const own = getComputedStyle(one).backgroundColor;
          return own.endsWith(", 0)") && one.parentElement ? under(one.parentElement) : own;
        };
        return [...document.querySelectorAll("body *")]
          .filter((one) => one.checkVisibility())
          .filter((one) => [...one.childNodes].some((part) => part.nodeType === 3 && part.data.trim()))
          .map((one) => [one.className || one.tagName, getComputedStyle(one).color, under(one)])
          .filter(([, , ground]) => ground.startsWith("rgb("))"""  # a mixed ground is written otherwise
    )
    assert len(pairs) > 60
    for name, ink, ground in pairs:
        low, high = sorted((luminance(ink), luminance(ground)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (name, ink, ground)


def luminance(colour: str) -> float:
    """As WCAG has it."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# When it does not go well -------------------------------------------------------------------------------------------


def test_a_key_is_asked_for_and_kept_for_the_tab(browser, models, pair):
    with serving(models, KEY) as address:
        page = Page(browser, address)
        browser.get(f"{address}/{asks(*pair)}")
        dialog = page.one("#key-dialog")
        page.until(dialog.is_displayed)
        page.one("#key").send_keys("a-wrong-key-of-some-length\ue007")
        page.until(lambda: page.one("#key-wrong").is_displayed())
        page.one("#key").send_keys(f"{KEY}\ue007")
        page.until(page.cards)
        page.until(lambda: page.texts("#model-facts dd"))
        assert not dialog.is_displayed()
        page.open(asks(*pair))  # not asked again
        assert page.cards()
        assert KEY not in page.browser.current_url
        assert page.run("return sessionStorage.length") == 1
        assert page.run("return localStorage.length") == 0
        page.run("sessionStorage.clear()")


@pytest.mark.parametrize(("failure", "words"), [("busy", "The service is busy."), ("gone", "cannot be reached")])
def test_a_service_that_is_busy_or_gone_is_asked_again(page, pair, failure, words):
    page.open()
    page.run(
        """
        const real = window.fetch;
        window.asked = 0;
        window.well = false;
        window.fetch = async (path, options) => {
          if (window.well || !path.includes("recommend")) return real(path, options);
          window.asked += 1;
          if (arguments0 === "gone") throw new TypeError("no connection");
          return new Response("{}", { status: 503, headers: { "retry-after": "9" } });
        };
        """.replace("arguments0", json.dumps(failure))
    )
    page.click("#examples button")
    page.until(lambda: page.one("#trouble").is_displayed())
    assert words in page.text("#trouble-text")
    page.run("window.well = true")
    page.click("#trouble-retry")
    page.until(page.cards)
    assert not page.one("#trouble").is_displayed()


# The files, without a browser ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client(models):
    with TestClient(create_app(models, ServiceConfig(), KEY)) as client:
        yield client


FILES = sorted(Path(__file__).parents[2].joinpath("src/logirec/service/web").iterdir())


@pytest.mark.parametrize("name", [file.name for file in FILES])
def test_files_need_no_key_and_are_kept_until_they_change(client, name):
    path = "/" if name == "index.html" else f"/web/{name}"
    response = client.get(path)
    assert response.status_code == 200
    assert response.headers["x-content-type-options"] == "nosniff"
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "://" not in response.text.replace('xmlns="http://www.w3.org/2000/svg"', "")  # nothing from elsewhere
    assert "innerHTML" not in response.text
    again = client.get(path, headers={"If-None-Match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.head(path).status_code == 200
    route = "/" if path == "/" else "/web/{name}"
    counted = client.get("/metrics", headers={"Authorization": f"Bearer {KEY}"}).text
    assert f'logirec_requests_total{{path="{route}",status="304"}}' in counted


@pytest.mark.parametrize("path", ["/web/", "/web/index.html", "/web/../app.py", "/web/%2e%2e%2fapp.py", "/web/none.js"])
def test_nothing_else_is_open(client, path):
    assert client.get(path).status_code == 401
    assert client.get(path, headers={"Authorization": f"Bearer {KEY}"}).status_code == 404


def test_items_to_begin_with_are_of_different_categories(client, models):
    found = client.get("/v1/items", params={"limit": 9}, headers={"Authorization": f"Bearer {KEY}"}).json()["items"]
    assert len(found) == 9
    assert all(one["category"] != other["category"] for one, other in itertools.pairwise(found))


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (None, (None, None)),
        ("nonsense", (None, None)),
        ("[]", (None, None)),
        (
            '{"dataset": {"folder": "/home/me/gifts"}, "started": "2026-01-02T03:04:05Z"}',
            ("gifts", "2026-01-02T03:04:05Z"),
        ),
        ('{"dataset": {"folder": "/home/me/demo/dataset"}, "started": "now"}', ("demo", "now")),
    ],
)
def test_a_model_says_where_it_comes_from_as_far_as_it_knows(tmp_path, run, expected):
    if run is not None:
        (tmp_path / "run.json").write_text(run)
    assert origin(tmp_path) == expected
