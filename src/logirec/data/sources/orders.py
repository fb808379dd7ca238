"""Order lines (order, item, and where known time, customer, quantity, price, status, title, and the line's place in the
order), or one basket a line.

This file only reads them. What is left out (cancelled orders, returns, codes that are no products) and how baskets
become links is in data/order_links.py.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from logirec.data.sources import side_tables
from logirec.data.sources.tables import Table, is_table, open_table, read_ragged, read_rows, recognise
from logirec.data.staging import Staging
from logirec.errors import InputError

ROLES = {
    "order": True,
    "item": True,
    "time": False,
    "customer": False,
    "quantity": False,
    "price": False,
    "status": False,
    "title": False,
    "place": False,
}


def read(path: Path, staging: Staging, columns: Mapping[str, str]) -> None:
    if path.is_dir():
        path, item_file = find_files(path)
        if item_file is not None:
            side_tables.read_items(item_file, staging, columns)
    table = open_table(path, columns.values())
    staging.files["orders"] = path.name
    with staging.progress.task(f"reading {path.name}", path.stat().st_size) as task:
        if not table.columns and not columns:
            _read_baskets(table, staging, task.advance)
            return
        found = recognise(table, ROLES, columns)
        staging.columns = {role: table.columns[number] for role, number in found.items()}
        rows = staging.writer("orders", list(found))
        for line, values in read_rows(table, list(found.values()), staging.rejects, task.advance):
            if values[0] and values[1]:  # order and item come first in ROLES
                rows.add(line, values)
            else:
                staging.rejects.reject(path.name, "no order or item id", line)


def _read_baskets(table: Table, staging: Staging, advance: Callable[[float], None]) -> None:
    """Each line is an order; its fields are the items."""
    rows = staging.writer("orders", ("order", "item", "place"))
    for row in read_ragged(table, staging.rejects, advance):
        items = [field.strip() for field in row.values if field.strip()]
        if not items:
            staging.rejects.reject(table.path.name, "no items", row.line)
            continue
        for place, item in enumerate(items):
            rows.add(row.line, (str(row.line), item, str(place)))


def find_files(folder: Path) -> tuple[Path, Path | None]:
    """The order lines and the item descriptions of a folder, by their columns."""
    orders, items = [], []
    for path in sorted(filter(is_table, folder.iterdir())):
        try:
            table = open_table(path)
        except InputError:
            continue  # a file that is none of ours
        if has_columns(table, ("order", "item")):
            orders.append(path)
        elif has_columns(table, ("item", "title")):
            items.append(path)
    if len(orders) != 1:
        names = ", ".join(path.name for path in orders) or "none"
        raise InputError(f"{folder}: needs one table with order and item columns, found {names}; name the file to read")
    return orders[0], items[0] if items else None


def has_columns(table: Table, roles: tuple[str, ...], columns: Mapping[str, str] = MappingProxyType({})) -> bool:
    try:
        recognise(table, dict.fromkeys(roles, True), columns)
    except InputError:
        return False
    return True
