"""DuckDB under a memory limit: dedup, joins and counts that do not fit into RAM spill to disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from logirec.errors import ResourceError

ROWS = 122_880  # of a batch and of a Parquet row group


class Store:
    def __init__(self, folder: Path, memory_mb: int, threads: int = 2) -> None:
        config = {
            "memory_limit": f"{memory_mb}MB",
            "threads": threads,
            "temp_directory": str(folder / "spill"),
            "preserve_insertion_order": False,  # every result we keep has an ORDER BY of its own
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self._con = duckdb.connect(str(folder / "store.duckdb"), config=config)

    def run(self, sql: str, values: list[Any] | None = None) -> None:
        with _guarded():
            self._con.execute(sql, values or [])

    def rows(self, sql: str, values: list[Any] | None = None) -> list[tuple[Any, ...]]:
        with _guarded():
            found: list[tuple[Any, ...]] = self._con.execute(sql, values or []).fetchall()
        return found

    def value(self, sql: str, values: list[Any] | None = None) -> Any:
        return self.rows(sql, values)[0][0]

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        with _guarded():
            yield from self._con.sql(sql).to_arrow_reader(ROWS)

    def write(self, sql: str, path: Path, schema: pa.Schema) -> int:
        """Stream an ordered result into a Parquet file; pyarrow writes it, so that its bytes depend on nothing else."""
        count = 0
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in self.batches(sql):
                writer.write_batch(batch.cast(schema), row_group_size=ROWS)
                count += batch.num_rows
        return count

    def close(self) -> None:
        self._con.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()


@contextmanager
def _guarded() -> Iterator[None]:
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        why = str(error).splitlines()[0]
        raise ResourceError(f"the joins ran out of memory or disk ({why}); raise --memory-mb") from error
    except duckdb.IOException as error:
        raise ResourceError(f"cannot read or write a working file ({str(error).splitlines()[0]})") from error
