"""Amazon product metadata: one record a line, JSON (2018) or a Python literal (2014), plain or gzip.

2018: asin, title, brand, category [...], also_buy [...], also_view [...]
2014: asin, title, brand, categories [[...]], related {also_bought [...], also_viewed [...]}
"""

import ast
import html
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from logirec.data.sources.lines import read_lines
from logirec.data.staging import BATCH, Rows, Staging, by_place
from logirec.relation import Relation

MAX_LITERAL = 1 << 20  # bytes of a Python literal: its parser takes a hundred times that in memory
MAX_ID = 256
_BUY, _VIEW = int(Relation.CO_PURCHASE), int(Relation.CO_VIEW)


class Related(msgspec.Struct):
    also_bought: list[str] | None = None
    also_viewed: list[str] | None = None


class Product(msgspec.Struct):
    asin: str
    title: str | None = None
    brand: str | None = None
    main_cat: str | None = None
    category: list[str | None] | str | None = None
    categories: list[list[str | None] | None] | None = None
    also_buy: list[str] | str | None = None  # some files write "" for none
    also_view: list[str] | str | None = None
    related: Related | None = None


_decoder = msgspec.json.Decoder(Product)


def read(path: Path, staging: Staging, columns: Mapping[str, str]) -> None:
    staging.files["links"] = path.name
    items, links = item_writer(staging), _LinkWriter(staging)
    for line, product in products(path, staging):
        items.add(line, item_row(product))
        links.add(line, product)
    links.flush()


def products(path: Path, staging: Staging) -> Iterator[tuple[int, Product]]:
    """Line number and product of every sound line; the others are counted."""
    rejects = staging.rejects
    with staging.progress.task(f"reading {path.name}", path.stat().st_size) as task:
        for line in read_lines(path, task.advance):
            rejects.lines[path.name] += 1
            product = "line too long" if line.text is None else parse(line.text)
            if isinstance(product, str):
                rejects.reject(path.name, product, line.number)
            else:
                yield line.number, product


def parse(text: bytes) -> Product | str:
    """The product of a line, or the reason why there is none."""
    try:
        product = _decoder.decode(text)
    except msgspec.ValidationError as error:
        return _reason(error)
    except RecursionError:
        return "nested too deeply"
    except (msgspec.DecodeError, UnicodeDecodeError):
        literal = _parse_literal(text)
        if isinstance(literal, str):
            return literal
        product = literal
    if not product.asin.strip() or len(product.asin) > MAX_ID:
        return "no usable asin"
    return product


def _parse_literal(text: bytes) -> Product | str:
    """A line of the 2014 files. literal_eval builds constants and containers and runs nothing."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError:
        return "not UTF-8"
    if not decoded.lstrip().startswith("{"):
        return "neither JSON nor a Python literal"
    if len(text) > MAX_LITERAL:
        return "Python literal too long"
    try:
        product = msgspec.convert(ast.literal_eval(decoded.strip()), Product)
        msgspec.json.encode(product)  # a literal can spell half a surrogate pair, which no file can hold
        return product
    except msgspec.ValidationError as error:
        return _reason(error)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return "neither JSON nor a Python literal"


def _reason(error: msgspec.ValidationError) -> str:
    """`Expected `str`, got `int` - at `$.title`` -> `wrong type: title`."""
    _, _, where = str(error).partition("`$.")
    field = where.split("`")[0].split("[")[0].split(".")[0]
    return f"wrong type: {field}" if field else "wrong type or no asin"


def item_writer(staging: Staging) -> Rows:
    return staging.writer("items", ("item", "title", "brand", "category"))


def item_row(product: Product) -> tuple[str | None, ...]:
    brand = html.unescape(product.brand).strip() if product.brand else None
    return product.asin.strip(), _title(product.title), brand or None, _category(product)


class _LinkWriter:
    """Links come by the dozen: columns are extended, not rows added."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging
        self._lines: list[int] = []
        self._source: list[str] = []
        self._target: list[str] = []
        self._relation: list[int] = []
        self._weight: list[float] = []

    def add(self, line: int, product: Product) -> None:
        asin, related = product.asin.strip(), product.related
        buy, view = _listed(product.also_buy), _listed(product.also_view)
        if related is not None:
            buy, view = buy + _listed(related.also_bought), view + _listed(related.also_viewed)
        for listed, relation in ((buy, _BUY), (view, _VIEW)):
            targets = [target.strip() for target in listed]
            if targets and not 0 < len(min(targets)) <= len(max(targets, key=len)) <= MAX_ID:
                targets = self._usable(targets, line)
            count = len(targets)
            self._lines += [line] * count
            self._source += [asin] * count
            self._target += targets
            self._relation += [relation] * count
            self._weight += by_place(count)
        if len(self._lines) >= BATCH:
            self.flush()

    def _usable(self, targets: list[str], line: int) -> list[str]:
        usable = [target for target in targets if 0 < len(target) <= MAX_ID]
        left_out = len(targets) - len(usable)
        self._staging.rejects.filter(self._staging.files["links"], "empty or endless target id", [line], left_out)
        return usable

    def flush(self) -> None:
        self._staging.add(
            "links",
            self._lines,
            source=self._source,
            target=self._target,
            relation=self._relation,
            weight=self._weight,
        )
        self._lines, self._source, self._target, self._relation, self._weight = [], [], [], [], []


def _listed(value: list[str] | str | None) -> list[str]:
    return value if isinstance(value, list) else []


def _title(title: str | None) -> str | None:
    """Some 2018 titles are scraps of the page's script."""
    if not title or "getTime()" in title:
        return None
    return html.unescape(title).strip() or None


def _category(product: Product) -> str | None:
    path = product.category or (product.categories[0] if product.categories else None) or product.main_cat
    if not path:
        return None
    parts = [path] if isinstance(path, str) else path
    # A script or a sentence is no category; neighbours that repeat ("Gift Cards", "Gift Cards") are one.
    clean = [html.unescape(p).strip() for p in parts if p and len(p) < 100 and "<" not in p]
    return " > ".join(p for i, p in enumerate(clean) if p and (i == 0 or p != clean[i - 1])) or None
