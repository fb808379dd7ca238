"""What may stand beside any source: user interactions, item descriptions, product views."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from logirec.data.rejects import Rejects
from logirec.data.sources import amazon
from logirec.data.sources.lines import read_lines
from logirec.data.sources.tables import Table, is_json, is_table, open_table, read_rows, recognise
from logirec.data.staging import Staging
from logirec.errors import InputError

INTERACTION_ROLES = {"user": True, "item": True, "rating": False, "time": False}
ITEM_ROLES = {"item": True, "title": False, "brand": False, "category": False}
VIEW_ROLES = {"session": True, "item": True, "time": False}


class Review(msgspec.Struct):
    """A line of Amazon's review files."""

    user: str = msgspec.field(name="reviewerID")
    item: str = msgspec.field(name="asin")
    rating: float | None = msgspec.field(name="overall", default=None)
    time: int | None = msgspec.field(name="unixReviewTime", default=None)


_reviews = msgspec.json.Decoder(Review)


def read_interactions(path: Path, staging: Staging, columns: Mapping[str, str]) -> None:
    """user, item, rating, time: a table with a header, Amazon's headerless ratings, or its review lines."""
    with staging.progress.task(f"reading {path.name}", path.stat().st_size) as task:
        if is_json(path):
            _read_reviews(path, staging, task.advance)
            return
        table = open_table(path, columns.values())
        if table.columns:
            found = recognise(table, INTERACTION_ROLES, columns)
        else:
            # Amazon's ratings come as user,item,... (2014) or item,user,... (2018): which one it is, the catalogue
            # decides once it is known (interactions.py takes the column that matches it better).
            width = _width(path, table)
            if width < 2:
                raise InputError(f"{path.name}: interactions need at least the columns user and item")
            found = dict(zip(("user", "item", "rating", "time")[:width], range(width), strict=True))
        constants = {"file": path.name, "headless": not table.columns}
        _read_table("interactions", table, found, staging, task.advance, ("user", "item"), constants)


def read_items(path: Path, staging: Staging, columns: Mapping[str, str]) -> None:
    """item_id, title, category, brand. Columns like aisle_id are looked up in a table of that name beside it.

    Amazon's metadata lines will do too; only their descriptions are taken.
    """
    if is_json(path):
        described = amazon.item_writer(staging)
        for line, product in amazon.products(path, staging):
            described.add(line, amazon.item_row(product))
        described.flush()
        return
    table = open_table(path, columns.values())
    found = recognise(table, ITEM_ROLES, columns)
    lookups = [
        (number, names)
        for number, column in enumerate(table.columns)
        if "category" not in found and column.endswith("_id") and (names := _lookup(path, column))
    ]
    roles, numbers = list(found), list(found.values())
    rows = staging.writer("items", ("item", "title", "brand", "category"))
    with staging.progress.task(f"reading {path.name}", path.stat().st_size) as task:
        for row in read_rows(table, numbers + [number for number, _ in lookups], staging.rejects, task.advance):
            cells: dict[str, str] = dict(zip(roles, row.values, strict=False))
            # The wider group first: departments are fewer than aisles.
            named = [
                (len(names), names.get(v, "")) for (_, names), v in zip(lookups, row.values[len(roles) :], strict=True)
            ]
            category = cells.get("category") or " > ".join(name for _, name in sorted(named) if name)
            if not cells["item"]:
                staging.rejects.reject(path.name, "no item id", row.line)
                continue
            rows.add(
                row.line,
                (cells["item"], cells.get("title") or None, cells.get("brand") or None, category or None),
            )
    rows.flush()  # what is read first is used first


def read_views(path: Path, staging: Staging, columns: Mapping[str, str]) -> None:
    table = open_table(path, columns.values())
    found = recognise(table, VIEW_ROLES, columns)
    staging.files["views"] = path.name
    with staging.progress.task(f"reading {path.name}", path.stat().st_size) as task:
        _read_table("views", table, found, staging, task.advance, required=("session", "item"))


def _read_table(
    name: str,
    table: Table,
    found: dict[str, int],
    staging: Staging,
    advance: Callable[[float], None],
    required: tuple[str, ...],
    constants: Mapping[str, object] | None = None,
) -> None:
    roles = list(found)
    must = [roles.index(role) for role in required]
    same = list((constants or {}).values())
    rows = staging.writer(name, [*roles, *(constants or {})])
    for line, values in read_rows(table, list(found.values()), staging.rejects, advance):
        if all(values[i] for i in must):
            rows.add(line, [*values, *same])
        else:
            staging.rejects.reject(table.path.name, f"no {' or '.join(required)}", line)


def _read_reviews(path: Path, staging: Staging, advance: Callable[[float], None]) -> None:
    rows = staging.writer("interactions", ("user", "item", "rating", "time", "file"))
    for line in read_lines(path, advance):
        staging.rejects.lines[path.name] += 1
        try:
            review = _reviews.decode(line.text or b"")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            staging.rejects.reject(path.name, "not a review" if line.text else "line too long", line.number)
            continue
        known = [None if value is None else str(value) for value in (review.rating, review.time)]
        rows.add(line.number, (review.user, review.item, *known, path.name))


def _width(path: Path, table: Table) -> int:
    first = next(iter(read_lines(path)))
    return min(4, (first.text or b"").count((table.delimiter or ",").encode()) + 1)


def _lookup(path: Path, column: str) -> dict[str, str]:
    """aisle_id -> the names in aisles.* beside the file."""
    stem = column.removesuffix("_id")
    for beside in sorted(path.parent.iterdir()):
        if not stem or beside == path or not beside.name.startswith(stem) or not is_table(beside):
            continue
        try:
            table = open_table(beside, (column,))
        except InputError:
            continue  # some other file that happens to have this name
        if column in table.columns and stem in table.columns:
            numbers = [table.columns.index(column), table.columns.index(stem)]
            return {row.values[0]: row.values[1] for row in read_rows(table, numbers, Rejects())}
    return {}
