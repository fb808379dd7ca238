"""Words and links of a model's items."""

import numpy as np
import pytest

from logirec.model.catalogue import Catalogue, Item, KnownLinks, Search

TITLES = ["Café au lait, 500 g", "Tea kettle", 'Kettle "Classic" <b>1.7 l</b>', None, "TEA: green; loose' OR 1=1 --"]


@pytest.fixture
def search(tmp_path):
    ids = ["A-1", "B 2", "C", "D", "Ä"]
    Catalogue(
        ids, TITLES, ["Bialetti", None, None, None, None], ["Drinks", "Kitchen", "Kitchen", None, "Drinks"]
    ).write(tmp_path / "items.sqlite")
    found = Search(tmp_path / "items.sqlite")
    yield lambda text, limit=10: [item.item_id for item in found.find(text, limit)]
    found.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kettle", {"B 2", "C"}),
        ("kett", {"B 2", "C"}),
        ("KETTLE tea", {"B 2"}),
        ("cafe", {"A-1"}),  # without its accent
        ("Cafe\N{COMBINING ACUTE ACCENT}", {"A-1"}),  # as some systems write it
        ("bialetti", {"A-1"}),
        ("kitchen", {"B 2", "C"}),
        ("A-1", {"A-1", "Ä"}),  # both have a word that begins with a, and a 1
        ("nothing like it", set()),
        ("", set()),
        ("  ,;-- ", set()),
        ('" OR title:*', set()),
        ("tea NOT green", set()),
        ("NEAR(", set()),
        ("\x00", set()),
        ("kettle " * 100, {"B 2", "C"}),  # which is one word
        ("k ke ket kett kettl kettle k1 k2 " + "nothing " * 100, set()),
    ],
)
def test_words_are_found_by_their_beginnings_and_never_read_as_a_language(search, text, expected):
    assert set(search(text)) == expected


def test_the_limit_holds(search):
    assert len(search("kettle", 1)) == 1


def test_what_is_written_is_read(tmp_path):
    made = Catalogue(["A", "B"], ["One", None], [None, "b"], ["x", "x"])
    made.write(tmp_path / "items.sqlite")
    read = Catalogue.read(tmp_path / "items.sqlite")
    assert read.vocabulary.item_ids == ("A", "B")
    assert read.item(1) == Item(1, "B", None, "b", "x")
    assert read.rows_of_category == {"x": [0, 1]}
    again = tmp_path / "again.sqlite"
    made.write(again)
    assert again.read_bytes() == (tmp_path / "items.sqlite").read_bytes()


def test_links_and_their_reverse():
    links = KnownLinks(np.array([0, 2, 2, 3]), np.array([1, 2, 0], dtype=np.int32))
    assert links.of(0) == [1, 2]
    back = links.reversed(3)
    assert [back.of(row) for row in range(3)] == [[2], [0], [0]]


def test_a_search_looks_for_a_few_words_and_no_more(search):
    assert search("t te tea k ke ket kett kettl nothing like it") == ["B 2"]
