"""The items that a model knows: ids, words and known links. items.sqlite is also what titles are searched in."""

import re
import sqlite3
import unicodedata
from collections.abc import Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from logirec.errors import ArtifactError
from logirec.vocabulary import Vocabulary

_SCHEMA = """
CREATE TABLE items (row INTEGER PRIMARY KEY, item_id TEXT NOT NULL, title TEXT, brand TEXT, category TEXT);
CREATE VIRTUAL TABLE words USING fts5(item_id, title, brand, category, content='items', content_rowid='row',
  tokenize='unicode61 remove_diacritics 2', prefix='2 3');
"""


class Item(NamedTuple):
    row: int
    item_id: str
    title: str | None
    brand: str | None
    category: str | None


class Catalogue:
    """Words by row; None where the shop gave none."""

    def __init__(
        self,
        item_ids: Sequence[str],
        titles: Sequence[str | None],
        brands: Sequence[str | None],
        categories: Sequence[str | None],
    ) -> None:
        self.vocabulary = Vocabulary(item_ids)
        self.titles, self.brands, self.categories = titles, brands, categories

    def __len__(self) -> int:
        return len(self.vocabulary)

    def item(self, row: int) -> Item:
        item_id = self.vocabulary.item_ids[row]
        return Item(row, item_id, self.titles[row], self.brands[row], self.categories[row])

    @cached_property
    def rows_of_category(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row, category in enumerate(self.categories):
            if category is not None:
                found.setdefault(category, []).append(row)
        return found

    def write(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as store, store:
            store.executescript(_SCHEMA)
            store.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?)", (self.item(row) for row in range(len(self))))
            store.execute("INSERT INTO words (words) VALUES ('rebuild')")
            store.execute("INSERT INTO words (words) VALUES ('optimize')")

    @classmethod
    def read(cls, path: Path) -> "Catalogue":
        with closing(_open(path)) as store:
            columns = list(
                zip(*store.execute("SELECT item_id, title, brand, category FROM items ORDER BY row"), strict=True)
            )
        if not columns:
            raise ArtifactError(f"{path}: no items")
        return cls(*columns)


MOST_WORDS = 8  # that a search looks for: each is a pass over all that begins like it


class Search:
    """Items by the beginnings of their words, best match first. One connection per thread."""

    def __init__(self, path: Path) -> None:
        self.store = _open(path)

    def find(self, text: str, limit: int) -> list[Item]:
        words = re.findall(r"\w+", unicodedata.normalize("NFC", text))  # an accent by itself is no letter
        words = list(dict.fromkeys(words))[:MOST_WORDS]
        if not words:
            return []
        # Each word quoted, so that no part of it is read as FTS5's own language; * matches beginnings.
        wanted = " ".join(f'"{word}"*' for word in words)
        found = self.store.execute(
            "SELECT items.* FROM words JOIN items ON items.row = words.rowid WHERE words MATCH ? "
            "ORDER BY words.rank, items.row LIMIT ?",
            (wanted, limit),
        )
        return [Item(*values) for values in found]

    def close(self) -> None:
        self.store.close()


def _open(path: Path) -> sqlite3.Connection:
    # immutable: no lock files beside it, so that a model can lie on a read-only disk
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)


class KnownLinks(NamedTuple):
    """Training links of one relation: item i links to targets[starts[i]:starts[i + 1]], ascending."""

    starts: np.ndarray  # (N + 1,) int64
    targets: np.ndarray  # (E,) int32

    def of(self, row: int) -> list[int]:
        found: list[int] = self.targets[self.starts[row] : self.starts[row + 1]].tolist()
        return found

    def reversed(self, items: int) -> "KnownLinks":
        sources = np.repeat(np.arange(items, dtype=np.int32), np.diff(self.starts))
        order = np.argsort(self.targets, kind="stable")
        starts = np.zeros(items + 1, dtype=np.int64)
        starts[1:] = np.bincount(self.targets, minlength=items).cumsum()
        return KnownLinks(starts, sources[order])
