"""Every way in, one file each. A source reads a path into Staging and counts what it cannot use."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from logirec.config import FORMATS, Format
from logirec.data.rejects import Rejects
from logirec.data.sources import amazon, links, orders, rechorus, released, side_tables
from logirec.data.sources.tables import Table, is_header, is_json, is_table, open_table, read_ragged, recognise
from logirec.data.staging import Staging
from logirec.errors import InputError
from logirec.folders import kind_of

HEADER_WITHIN = 10  # lines: what stands above is a title, a date, sep=;
ALIKE = 0.9  # of lines with as many fields: a table, not baskets

Reader = Callable[[Path, Staging, Mapping[str, str]], None]

READERS: dict[Format, Reader] = {
    "amazon": amazon.read,
    "links": links.read,
    "rechorus": rechorus.read,
    "orders": orders.read,
    "released": released.read,
}


def locate(path: Path, wanted: Format | None, columns: Mapping[str, str] = MappingProxyType({})) -> tuple[Format, Path]:
    """The format of a path, by what is in it, and the file (or folder) that its reader takes.

    `columns` is what --columns names: its roles too say what the file is.
    """
    if wanted is None and {"source", "target", "order"} & set(columns):
        wanted = "orders" if "order" in columns else "links"
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if path.is_file():
        return wanted or _detect_file(path, columns), path
    if not path.is_dir():
        raise InputError(f"{path}: neither a file nor a folder")
    if kind_of(path) is not None:
        raise InputError(f"{path}: a folder that logirec has written; prepare reads a shop's raw files")
    if wanted in ("rechorus", "released") or (path / "item_meta.csv").exists() or (path / "id2ent.pkl").exists():
        return wanted or ("rechorus" if (path / "item_meta.csv").exists() else "released"), path
    if wanted in (None, "amazon"):
        metadata = sorted(p for p in path.iterdir() if p.name.startswith("meta_") and ".json" in p.name)
        if len(metadata) > 1:
            raise InputError(f"{path}: more than one metadata file; name the one to read")
        if metadata:
            return "amazon", metadata[0]
    tables = sorted(filter(is_table, path.iterdir()))
    if len(tables) == 1:
        return wanted or _detect_file(tables[0], columns), tables[0]
    if wanted in (None, "orders") and tables:
        orders.find_files(path)
        return "orders", path
    raise InputError(f"{path}: no known input in this folder; name a file, and its --format ({', '.join(FORMATS)})")


def tables_of(format: Format, path: Path) -> list[Path]:
    """The tables that the reader of a format takes from a path: --columns may name their columns."""
    if format not in ("orders", "links"):
        return []
    return [file for file in orders.find_files(path) if file is not None] if path.is_dir() else [path]


def roles_of(format: Format, path: Path) -> set[str]:
    """What --columns can name there."""
    if format == "links":
        return {*links.ROLES}
    if format != "orders":
        return set()
    return {*orders.ROLES, *(side_tables.ITEM_ROLES if path.is_dir() else ())}


def _detect_file(path: Path, columns: Mapping[str, str]) -> Format:
    if is_json(path):
        return "amazon"
    table = open_table(path, columns.values())
    if not table.columns:
        return _baskets_or_not(table)
    kinds: dict[Format, tuple[str, ...]] = {"orders": ("order", "item"), "links": ("source", "target")}
    for name, roles in kinds.items():
        if orders.has_columns(table, roles, columns):
            return name
    for roles in kinds.values():  # half of it is there: say what is missing
        if any(orders.has_columns(table, (role,), columns) for role in roles):
            recognise(table, dict.fromkeys(roles, True), columns)
    raise InputError(
        f"{path.name}: cannot tell the format from the columns {', '.join(table.columns)}; "
        f"name it with --format ({', '.join(FORMATS)}) and the columns with --columns"
    )


def _baskets_or_not(table: Table) -> Format:
    """No header that is known: one basket a line, unless nearly all lines have as many fields."""
    rows = list(islice(read_ragged(table, Rejects(), lambda _: None), 100))
    header = next((row.line for row in rows[:HEADER_WITHIN] if is_header(tuple(row.values), ())), None)
    if header is not None:
        raise InputError(f"{table.path.name}: line {header} looks like the header; remove what is above it")
    width, lines = Counter(len(row.values) for row in rows).most_common(1)[0] if rows else (0, 0)
    if len(rows) > 2 and width > 1 and lines >= ALIKE * len(rows):
        raise InputError(
            f"{table.path.name}: {width} columns and no name among them that is known; name them with "
            "--columns order=...,item=... or, if each line is a basket, say --format orders"
        )
    return "orders"
