"""DuckDB under a memory limit: dedup, joins and counts that do not fit into RAM spill to disk.

The limit starts small and is doubled, up to the cap, when a statement cannot do with it. So a run takes the memory it
needs and no more, whatever the cap.
"""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from logirec.errors import ResourceError

ROWS = 65_536  # of a batch and of a Parquet row group
START_MB = 160

T = TypeVar("T")


class Store:
    def __init__(self, folder: Path, cap_mb: int, threads: int = 2) -> None:
        self._cap = cap_mb
        self._limit = min(START_MB, cap_mb)
        config = {
            "memory_limit": f"{self._limit}MB",
            "threads": threads,
            "temp_directory": str(folder / "spill"),
            "preserve_insertion_order": False,  # every result we keep has an ORDER BY of its own
            "allocator_flush_threshold": "8MB",  # memory that is free inside goes back early
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self._con = duckdb.connect(str(folder / "store.duckdb"), config=config)

    def run(self, sql: str) -> None:
        """One statement, which either happened or did not."""
        self._with_room(lambda: self._con.execute(sql))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._with_room(lambda: list(self._con.execute(sql).fetchall()))

    def value(self, sql: str) -> Any:
        return self.rows(sql)[0][0]

    def columns(self, sql: str) -> dict[str, np.ndarray]:
        return self._with_room(lambda: dict(self._con.execute(sql).fetchnumpy()))

    def write(self, sql: str, path: Path, schema: pa.Schema) -> int:
        """Stream an ordered result into a Parquet file; pyarrow writes it, so that its bytes depend on nothing else."""
        return self._with_room(lambda: self._stream(sql, path, schema))

    def _stream(self, sql: str, path: Path, schema: pa.Schema) -> int:
        count = 0
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for batch in self._con.sql(sql).to_arrow_reader(ROWS):
                writer.write_batch(batch.cast(schema), row_group_size=ROWS)
                count += batch.num_rows
        return count

    def _with_room(self, action: Callable[[], T]) -> T:
        while True:
            try:
                return action()
            except duckdb.OutOfMemoryException as error:
                if self._limit >= self._cap:
                    why = str(error).splitlines()[0]
                    raise ResourceError(f"the joins ran out of memory or disk ({why}); raise --memory-mb") from error
                self._limit = min(2 * self._limit, self._cap)
                self._con.execute(f"SET memory_limit = '{self._limit}MB'")
            except duckdb.IOException as error:
                raise ResourceError(f"cannot read or write a working file ({str(error).splitlines()[0]})") from error

    def close(self) -> None:
        self._con.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()
