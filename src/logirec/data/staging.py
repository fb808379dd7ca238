"""Where the sources put what they read: one Parquet file per table, written as it comes, then joined in DuckDB."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from logirec.data.rejects import Rejects
from logirec.progress import Progress

BATCH = 131_072

SCHEMAS = {
    "links": {
        "source": pa.string(),
        "target": pa.string(),
        "relation": pa.int8(),
        "weight": pa.float32(),
        "held_out": pa.bool_(),  # a source's own word that training must not see it
    },
    "items": {"item": pa.string(), "title": pa.string(), "brand": pa.string(), "category": pa.string()},
    "interactions": {
        **{name: pa.string() for name in ("user", "item", "rating", "time", "file")},
        "headless": pa.bool_(),  # which of user and item is which, the catalogue decides
    },
    "orders": {
        name: pa.string()
        for name in ("order", "item", "time", "customer", "quantity", "price", "status", "title", "place")
    },
    "views": {"session": pa.string(), "item": pa.string(), "time": pa.string()},
    # The authors' own triplets: query items, answer, stage and kind as they split them.
    "triplets": {
        "stage": pa.string(),
        "kind": pa.string(),
        "first": pa.string(),
        "second": pa.string(),
        "answer": pa.string(),
    },
}

_FIRST_PLACES = [1 / place for place in range(1, 101)]  # made once: few lists are longer


def by_place(count: int) -> list[float]:
    """Weights of a list's links, the strongest first: nothing but their order is made use of."""
    return _FIRST_PLACES[:count] + [1 / place for place in range(len(_FIRST_PLACES) + 1, count + 1)]


class Rows:
    """Collects rows and hands them on as columns: one call per row is all that a million of them can bear."""

    def __init__(self, staging: "Staging", table: str, columns: Sequence[str]) -> None:
        self._staging, self._table, self._columns = staging, table, columns
        self._lines: list[int] = []
        self._values: list[Sequence[object]] = []

    def add(self, line: int, values: Sequence[object]) -> None:
        self._lines.append(line)
        self._values.append(values)
        if len(self._lines) >= BATCH:
            self.flush()

    def flush(self) -> None:
        if self._lines:
            columns = (list(column) for column in zip(*self._values, strict=True))
            self._staging.add(self._table, self._lines, **dict(zip(self._columns, columns, strict=True)))
            self._lines, self._values = [], []


class Staging:
    """`add` takes columns of equal length; every row keeps the line it came from."""

    def __init__(self, folder: Path, progress: Progress | None = None) -> None:
        self.folder = folder
        self.rejects = Rejects()
        self.progress = progress or Progress()
        self.notes: dict[str, object] = {}  # what a source wants said of its data
        self.columns: dict[str, str] = {}  # role -> the name of its column, of order lines or links
        self.rows: dict[str, int] = {}
        self.files: dict[str, str] = {}  # table -> name of the input file, for the reject list
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._waiting: dict[str, dict[str, list[object]]] = {}
        self._rows: list[Rows] = []

    def path(self, table: str) -> Path:
        return self.folder / f"raw-{table}.parquet"

    def add(self, table: str, lines: list[int], **columns: Sequence[object]) -> None:
        names = (*SCHEMAS[table], "line")
        waiting = self._waiting.setdefault(table, {name: [] for name in names})
        waiting["line"].extend(lines)
        for name in SCHEMAS[table]:
            waiting[name].extend(columns[name] if name in columns else [None] * len(lines))
        if len(waiting["line"]) >= BATCH:
            self._flush(table)

    def writer(self, table: str, columns: Sequence[str]) -> "Rows":
        """For sources that come row by row."""
        self._rows.append(Rows(self, table, columns))
        return self._rows[-1]

    def _flush(self, table: str) -> None:
        schema = pa.schema({**SCHEMAS[table], "line": pa.int64()})
        if table not in self._writers:
            self._writers[table] = pq.ParquetWriter(self.path(table), schema, compression="lz4")
        waiting = self._waiting.pop(table, {name: [] for name in schema.names})
        batch = pa.record_batch([pa.array(waiting[n], schema.field(n).type) for n in schema.names], schema=schema)
        self._writers[table].write_batch(batch)
        self.rows[table] = self.rows.get(table, 0) + batch.num_rows

    def __enter__(self) -> "Staging":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            for rows in self._rows:
                rows.flush()
            for table in list(SCHEMAS):
                self._flush(table)  # every table exists, if only empty, so that the joins need no special cases
        for writer in self._writers.values():
            writer.close()
