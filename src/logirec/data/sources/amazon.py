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
from logirec.data.staging import Staging
from logirec.relation import Relation

MAX_LITERAL = 1 << 20  # bytes of a Python literal: its parser takes a hundred times that in memory
MAX_ID = 256


class Related(msgspec.Struct):
    also_bought: list[str] = []
    also_viewed: list[str] = []


class Product(msgspec.Struct):
    asin: str
    title: str | None = None
    brand: str | None = None
    main_cat: str | None = None
    category: list[str] | str | None = None
    categories: list[list[str]] | None = None
    also_buy: list[str] | str | None = None  # some files write "" for none
    also_view: list[str] | str | None = None
    related: Related | None = None


_decoder = msgspec.json.Decoder(Product)


def read(path: Path, staging: Staging, columns: Mapping[str, str]) -> None:
    staging.files["links"] = path.name
    for line, product in products(path, staging):
        stage_item(product, line, staging)
        _stage_links(product, line, staging)


def products(path: Path, staging: Staging) -> Iterator[tuple[int, Product]]:
    """Line number and product of every sound line; the others are counted."""
    rejects = staging.rejects
    with staging.progress.task(f"reading {path.name}", path.stat().st_size) as task:
        for line in read_lines(path, task.advance):
            rejects.lines_read += 1
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


def stage_item(product: Product, line: int, staging: Staging) -> None:
    staging.add(
        "items",
        [line],
        item=[product.asin.strip()],
        title=[_title(product.title)],
        brand=[html.unescape(product.brand).strip() or None if product.brand else None],
        category=[_category(product)],
    )


def _stage_links(product: Product, line: int, staging: Staging) -> None:
    asin = product.asin.strip()
    related = product.related or Related()
    for listed, relation in (
        (_listed(product.also_buy) + related.also_bought, Relation.CO_PURCHASE),
        (_listed(product.also_view) + related.also_viewed, Relation.CO_VIEW),
    ):
        targets = [t for t in listed if t and len(t) <= MAX_ID]
        count = len(targets)
        if count < len(listed):
            staging.rejects.filter(staging.files["links"], "empty or endless target id", [line], len(listed) - count)
        if count:
            staging.add(
                "links",
                [line] * count,
                source=[asin] * count,
                target=list(targets),
                relation=[int(relation)] * count,
                weight=[1.0] * count,
            )


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
