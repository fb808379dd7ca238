"""Rows of a CSV, TSV or Parquet file as text, column by column name, in bounded memory."""

import csv
import datetime
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from logirec.data.rejects import Rejects
from logirec.data.sources.lines import read_lines, starts_like_json
from logirec.errors import InputError

ENDINGS = (".csv", ".tsv", ".parquet", ".pq", ".csv.gz", ".tsv.gz")
MAX_SPAN = 10  # lines of one record: a quoted description may have some, an unclosed quote swallows hundreds
BATCH = 65_536

# What a column may be called, in any case and with any punctuation.
NAMES = {
    "order": "order_id order invoice_no invoice invoice_id basket_id basket transaction_id transaction "
    "receipt_id receipt ticket_id ticket cart_id",
    "session": "session_id session visit_id visit",
    "item": "item_id item product_id product stock_code sku asin article_id article product_code item_code upc ean",
    "time": "timestamp datetime invoice_date order_date order_time purchase_date created_at event_time "
    "unix_review_time date time",
    "customer": "customer_id customer user_id user client_id member_id household_id",
    "user": "user_id user reviewer_id customer_id customer client_id member_id",
    "quantity": "quantity qty units",
    "price": "unit_price price",
    "status": "status order_status state",
    "place": "add_to_cart_order line_number line_no line_nr position",
    "title": "title description name product_name item_name product_title",
    "brand": "brand manufacturer i_brand",
    "category": "category categories main_cat department aisle group product_category i_category",
    "source": "source source_id source_item from head item_a left",
    "target": "target target_id target_item to tail item_b right",
    "relation": "relation rel relationship type kind edge_type",
    "weight": "weight score strength confidence",
    "rating": "rating overall score stars",
}


def _plain(name: str) -> str:
    return "".join(ch for ch in name.lower() if ch.isalnum())


_RANK = {role: {_plain(name): rank for rank, name in enumerate(names.split())} for role, names in NAMES.items()}


_KNOWN = {name for ranks in _RANK.values() for name in ranks}
_TELLING = {_plain(n) for names in NAMES.values() for n in names.split() if "_" in n} | {"sku", "asin", "upc", "ean"}


class Row(NamedTuple):
    line: int
    values: list[str]  # one text per asked column, "" where empty


@dataclass(frozen=True)
class Table:
    path: Path
    columns: tuple[str, ...]  # empty where the file has no header
    delimiter: str | None  # None for Parquet


def is_table(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(ENDINGS)


def is_parquet(path: Path) -> bool:
    return path.suffix.lower() in (".parquet", ".pq")


def is_json(path: Path) -> bool:
    return not is_parquet(path) and starts_like_json(path)


def open_table(path: Path, named: Collection[str] = ()) -> Table:
    """Look at the first lines (or the Parquet footer) only. A first line with a column that was `named` is a header."""
    if is_parquet(path):
        try:
            names = tuple(pq.read_schema(path).names)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path.name}: not a readable Parquet file ({_one_line(error)})") from error
        if len(set(names)) < len(names):
            raise InputError(f"{path.name}: two columns have the same name; rename one")
        return Table(path, names, None)
    sample = list(islice(read_lines(path), 50))
    if not sample:
        raise InputError(f"{path.name}: the file is empty")
    try:
        texts = [(line.text or b"").decode("utf-8", "strict" if line is sample[0] else "replace") for line in sample]
        delimiter = _delimiter(texts)
        fields = next(csv.reader(texts[:1], delimiter=delimiter), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path.name}: line {sample[0].number} is no line of a table ({error})") from error
    header = tuple(field.strip() for field in fields)
    return Table(path, header if is_header(header, named) else (), delimiter)


def _delimiter(texts: list[str]) -> str:
    """The sign most lines have; spaces only where no line has any other."""
    found = {sign: sum(sign in text for text in texts) for sign in "\t,;|"}
    best = max(found, key=lambda sign: (found[sign], texts[0].count(sign)))
    if found[best]:
        return best
    return " " if len(texts) > 1 and sum(" " in text.strip() for text in texts) > len(texts) / 2 else ","


def is_header(fields: tuple[str, ...], named: Collection[str]) -> bool:
    """`order_id` heads a column; `date` may be a fruit in a basket, unless `quantity` stands beside it."""
    plain = {_plain(field) for field in fields}
    return bool(set(fields) & set(named) or plain & _TELLING or len(plain & _KNOWN) >= 2)


def recognise(table: Table, roles: Mapping[str, bool], override: Mapping[str, str]) -> dict[str, int]:
    """role -> column number. `roles` says which are required; `override` (--columns) wins over the names known.

    --columns speaks of several tables (`check_columns` sees to it that one has each name): a table takes those it has.
    """
    found: dict[str, int] = {}
    for role in roles:
        if override.get(role) == "-" and not roles[role]:
            continue
        if override.get(role) in table.columns:
            found[role] = table.columns.index(override[role])
            continue
        taken = set(found.values())
        ranks = {
            number: _RANK[role][_plain(name)]
            for number, name in enumerate(table.columns)
            if _plain(name) in _RANK[role] and number not in taken and name not in override.values()
        }
        if ranks:
            found[role] = min(ranks, key=lambda number: ranks[number])
    missing = [role for role, required in roles.items() if required and role not in found]
    if missing:
        if not table.columns:
            raise InputError(f"{table.path.name}: needs a header line that names {', '.join(missing)}")
        raise InputError(
            f"{table.path.name}: no column for {', '.join(missing)} (columns: {_shown(table.columns)}); "
            f"name it with --columns {missing[0]}=..."
        )
    return found


def check_columns(paths: Collection[Path], override: Mapping[str, str]) -> None:
    """Every name that --columns gives is one of a table's."""
    tables = [open_table(path, override.values()) for path in paths if not is_json(path)] if override else []
    if override and not tables:
        raise InputError("--columns: this format has no columns to name; leave it out")
    for role, name in override.items():
        if name != "-" and not any(name in table.columns for table in tables):
            shown = "; ".join(f"{table.path.name}: {_shown(table.columns) or 'no header'}" for table in tables)
            raise InputError(f"--columns {role}={name}: no table has a column of that name ({shown})")


def _shown(names: Collection[str]) -> str:
    return ", ".join(name if name.isprintable() else repr(name) for name in names)


def read_rows(
    table: Table, columns: list[int], rejects: Rejects, advance: Callable[[float], None] = lambda _: None
) -> Iterator[Row]:
    """The asked columns of every sound row, as text; broken rows are counted."""
    if table.delimiter is None:
        return _parquet_rows(table, columns, rejects, advance)
    return _text_rows(table, columns, rejects, advance)


def read_ragged(table: Table, rejects: Rejects, advance: Callable[[float], None]) -> Iterator[Row]:
    """All fields of every line, however many: a file with one basket a line."""
    decoder = _Decoder(table.path, rejects, advance)
    for fields in decoder.records(table.delimiter or ","):
        yield Row(decoder.number, fields)


def _text_rows(table: Table, columns: list[int], rejects: Rejects, advance: Callable[[float], None]) -> Iterator[Row]:
    decoder = _Decoder(table.path, rejects, advance)
    records = decoder.records(table.delimiter or ",")
    width = len(table.columns)
    if width:
        next(records, None)  # the header
        rejects.lines[table.path.name] -= 1
    need = max(columns) + 1
    for fields in records:
        if len(fields) < need or (width and len(fields) > width):
            rejects.reject(table.path.name, "wrong number of fields", decoder.number)
            continue
        yield Row(decoder.number, [fields[c].strip() for c in columns])


class _Decoder:
    """Feeds csv.reader with decoded lines and remembers where it is."""

    def __init__(self, path: Path, rejects: Rejects, advance: Callable[[float], None]) -> None:
        self.path, self.rejects, self.advance = path, rejects, advance
        self.number = 0
        self.taken = 0  # lines handed to csv.reader

    def _texts(self) -> Iterator[str]:
        for line in read_lines(self.path, self.advance):
            self.rejects.lines[self.path.name] += 1
            self.number = line.number
            if line.text is None:
                self.rejects.reject(self.path.name, "line too long", line.number)
                continue
            try:
                text = line.text.decode("utf-8")
            except UnicodeDecodeError:
                self.rejects.reject(self.path.name, "not UTF-8", line.number)
                continue
            if "\0" in text:
                self.rejects.reject(self.path.name, "NUL bytes", line.number)
                continue
            self.taken += 1
            yield text + "\n"

    def records(self, delimiter: str) -> Iterator[list[str]]:
        # strict: an unclosed quote at the end of the file is an error, not a field that swallowed the rest.
        reader = csv.reader(self._texts(), delimiter=delimiter, strict=True)
        while True:
            before = self.taken
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error:
                record = None
            span = max(1, self.taken - before)
            if record is None or span > MAX_SPAN:
                self.rejects.reject(self.path.name, "broken CSV", self.number - span + 1, span)
            else:
                yield record


def _parquet_rows(
    table: Table, columns: list[int], rejects: Rejects, advance: Callable[[float], None]
) -> Iterator[Row]:
    names = [table.columns[c] for c in columns]
    number = 0
    try:
        file = pq.ParquetFile(table.path)
        if not file.metadata.num_rows:
            raise InputError(f"{table.path.name}: the file is empty")
        step = table.path.stat().st_size / file.metadata.num_rows
        for batch in file.iter_batches(batch_size=BATCH, columns=list(dict.fromkeys(names))):
            taken = [_values(batch.column(name)) for name in names]
            rejects.lines[table.path.name] += batch.num_rows
            advance(step * batch.num_rows)
            for values in zip(*taken, strict=True):
                number += 1
                texts = [as_text(value) for value in values]
                if None in texts:
                    rejects.reject(table.path.name, "wrong type", number)
                    continue
                yield Row(number, [text or "" for text in texts])
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise InputError(f"{table.path.name}: not a readable Parquet file ({_one_line(error)})") from error


def _values(column: pa.Array) -> list[object]:
    """Text as bytes, so that one bad string costs its row and not the file; times without the nanoseconds."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        column = column.cast(kind).cast(pa.large_binary())
    elif pa.types.is_timestamp(kind) and kind.unit == "ns":
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    values: list[object] = column.to_pylist()
    return values


def as_text(value: object) -> str | None:
    """Text of a cell, or None where it is of no type that a cell can have. 17850.0 is the id 17850."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return "" if value != value else str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8").strip()
        except UnicodeDecodeError:
            return None
    return None


def _one_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
