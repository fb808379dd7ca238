import json

import pytest

from logirec.data.sources import amazon

PRODUCT_2018 = {
    "asin": "B1",
    "title": "Salt &amp; Pepper",
    "brand": "Acme",
    "category": ["Kitchen", "Kitchen", "Spices"],
    "also_buy": ["B2", "B3"],
    "also_view": ["B4"],
    "price": "$3",
}
PRODUCT_2014 = "{'asin': 'B1', 'title': \"Chef's Knife\", 'related': {'also_bought': ['B2'], 'also_viewed': ['B3']}, "
PRODUCT_2014 += "'categories': [['Kitchen', 'Knives'], ['Other']], 'price': 3.5}"


def test_2018_line():
    product = amazon.parse(json.dumps(PRODUCT_2018).encode())
    assert amazon.item_row(product) == ("B1", "Salt & Pepper", "Acme", "Kitchen > Spices")
    assert product.also_buy == ["B2", "B3"]


def test_2014_line():
    product = amazon.parse(PRODUCT_2014.encode())
    assert amazon.item_row(product) == ("B1", "Chef's Knife", None, "Kitchen > Knives")
    assert product.related.also_bought == ["B2"]


@pytest.mark.parametrize("none", ['""', "null", "[]"])
def test_no_links_in_any_spelling(none):
    product = amazon.parse(f'{{"asin": "B1", "also_buy": {none}}}'.encode())
    assert amazon._listed(product.also_buy) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"asin": 7}', "wrong type: asin"),
        (b'{"asin": "B1", "also_buy": [1, 2]}', "wrong type: also_buy"),
        (b'{"asin": "B1", "title": {"a": 1}}', "wrong type: title"),
        (b'{"title": "no id"}', "wrong type or no asin"),
        (b'{"asin": " "}', "no usable asin"),
        (b'{"asin": "B1", "title": "\xff\xfe"}', "not UTF-8"),
        (b"[1, 2]", "wrong type or no asin"),
        (b"B1,B2,B3", "neither JSON nor a Python literal"),
        (b'{"asin": "B1"', "neither JSON nor a Python literal"),
        (b"{'asin': __import__('os').system('true')}", "neither JSON nor a Python literal"),
        (b"{'asin': 'B1', 'title': '\\ud800'}", "neither JSON nor a Python literal"),
        (b"{'asin': " + b"(" * 5000 + b")" * 5000 + b"}", "neither JSON nor a Python literal"),
        (b"{'asin': '" + b"x" * (1 << 20) + b"'}", "Python literal too long"),
    ],
)
def test_bad_lines_have_a_reason(line, reason):
    assert amazon.parse(line) == reason


def test_deep_nesting_is_rejected_whatever_stops_it():
    assert isinstance(amazon.parse(b'{"asin": "B1", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"), str)


def test_a_literal_runs_nothing(tmp_path):
    trap = tmp_path / "trap"
    line = f"{{'asin': open({str(trap)!r}, 'w')}}"
    assert isinstance(amazon.parse(line.encode()), str)
    assert not trap.exists()


def test_scraps_of_script_are_no_title():
    assert amazon._title("var aPageStart = (new Date()).getTime();") is None
