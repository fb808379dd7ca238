"""Writes a dataset's files as a protocol makes them, so that no two parts need be in memory together."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from logirec.data.catalog import Catalog
from logirec.data.dataset import BASKET_SCHEMA, LINK_SCHEMA, QUERY_SCHEMA
from logirec.data.graph import undirected_count
from logirec.data.query_sets import Kind, QuerySet, Ragged, Stage
from logirec.relation import Relation


class DatasetWriter:
    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self.folder = folder
        self.catalog = catalog
        self.notes: dict[str, Any] = {}  # how it was done: sampling, direction, what was skipped
        self.queries_written: dict[str, dict[str, dict[str, int]]] = {}
        self.links_written: dict[str, dict[str, int]] = {
            relation.label: {"directed": len(links), "undirected": undirected_count(links, catalog.items)}
            for relation, links in catalog.links.items()
        }
        for name in ("links", "queries"):
            (folder / name).mkdir()

    def links(self, stage: Stage, own: dict[Relation, np.ndarray]) -> None:
        """The catalogue's links that a stage has of its own, as a mask per relation."""
        with pq.ParquetWriter(self.folder / "links" / f"{stage}.parquet", LINK_SCHEMA, compression="zstd") as writer:
            for relation, mask in own.items():
                links = self.catalog.links[relation]
                for part, weight in self.catalog.weights(relation):
                    kept = mask[part]
                    kinds = np.full(np.count_nonzero(kept), int(relation), dtype=np.int8)
                    columns = [links.source[part][kept], links.target[part][kept], kinds, weight[kept]]
                    writer.write_table(pa.table(columns, schema=LINK_SCHEMA))
                self.links_written[relation.label][stage] = int(mask.sum())

    def queries(self, stage: Stage, kind: Kind, queries: QuerySet) -> None:
        hardness = Ragged(queries.answers.offsets, queries.hardness)
        columns = (queries.members, queries.answers, hardness, queries.known)
        _write_lists(self.folder / "queries" / f"{stage}-{kind}.parquet", columns, QUERY_SCHEMA)
        counts = {"queries": len(queries), "answers": len(queries.answers.values)}
        self.queries_written.setdefault(stage, {})[kind] = counts

    def baskets(self, baskets: Ragged) -> None:
        _write_lists(self.folder / "baskets.parquet", (baskets,), BASKET_SCHEMA)


def _write_lists(path: Path, columns: tuple[Ragged, ...], schema: pa.Schema, rows: int = 1 << 16) -> None:
    """In slices, so that Arrow's 32-bit list offsets hold whatever the whole is."""
    count = len(columns[0])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, max(1, count), rows):
            part = np.arange(start, min(start + rows, count))
            arrays = [
                pa.ListArray.from_arrays(
                    pa.array(lists.offsets.astype(np.int32)), pa.array(lists.values, field.type.value_type)
                ).cast(field.type)
                for lists, field in zip((column.take(part) for column in columns), schema, strict=True)
            ]
            writer.write_table(pa.table(arrays, schema=schema))
