"""Staged tables -> the catalogue: items numbered by sorted id, links between those numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from logirec.config import PrepareConfig
from logirec.data.graph import SLICE, Links, has_links
from logirec.data.order_links import LAST_TRAINING_TIME, clean_orders, count_customers, link_orders, split_orders
from logirec.data.rejects import FIRST
from logirec.data.staging import SCHEMAS, Staging
from logirec.data.store import Store
from logirec.data.times import reading_of_time
from logirec.errors import InputError
from logirec.relation import Relation

ITEM_SCHEMA = pa.schema(
    {
        "row": pa.int32(),
        "item_id": pa.string(),
        "title": pa.string(),
        "brand": pa.string(),
        "category": pa.string(),
    }
)
WORKING_LINKS = pa.schema({"source": pa.int32(), "target": pa.int32(), "weight": pa.float32(), "held_out": pa.bool_()})


class CatalogFiles(NamedTuple):
    """Left on disk until the store is closed: its memory and the links' are never needed together."""

    items: int
    links: dict[Relation, Path]
    counts: dict[str, Any]
    order_split: str | None


@dataclass(frozen=True)
class Catalog:
    """What is known once ids are rows. Orders and triplets stay in the store until a protocol asks for them."""

    items: int
    links: dict[Relation, Links]  # without weights
    order_split: str | None  # "temporal" or "random" where orders were split before linking
    files: dict[Relation, Path]  # what few ask for stays there

    def weights(self, relation: Relation) -> Iterator[tuple[slice, np.ndarray]]:
        """Of the links, a slice at a time, for writing: no split asks for them, and ten million take 40 MB."""
        return _parts(self.files[relation], "weight")

    def held_out(self) -> np.ndarray:
        """Per co-purchase link: a source's own word that training must not see it."""
        return _read_column(self.files[Relation.CO_PURCHASE], "held_out")

    def complementary(self) -> np.ndarray:
        """Per co-purchase link: it is not a co-view link too, the paper's E_cp and not E_cv."""
        bought, viewed = self.links[Relation.CO_PURCHASE], self.links[Relation.CO_VIEW]
        return ~has_links(viewed, self.items, bought.source, bought.target)


def build_catalog(store: Store, staging: Staging, config: PrepareConfig, items_path: Path) -> CatalogFiles:
    for table in SCHEMAS:
        path = str(staging.path(table)).replace("'", "''")
        # Order lines add to these two, so they must be tables.
        kind = "TABLE" if table in ("links", "interactions") and staging.rows["orders"] else "VIEW"
        # `place`: the order of reading, which --items opens.
        columns = "* RENAME (file_row_number AS place)"
        store.run(f"CREATE {kind} raw_{table} AS SELECT {columns} FROM read_parquet('{path}', file_row_number = true)")
    ordered = bool(staging.rows["orders"])
    order_split = _orders(store, staging, config) if ordered else None
    _count_self_links(store, staging)
    _number_items(store, config, ordered, order_split)
    _write_items(store, items_path)
    store.run(
        """
        CREATE TABLE links AS SELECT relation, s.row AS source, t.row AS target,
            max(weight)::FLOAT AS weight, coalesce(bool_and(held_out), false) AS held_out, count(*) AS times
          FROM raw_links l JOIN ids s ON l.source = s.item JOIN ids t ON l.target = t.item
          WHERE l.source <> l.target GROUP BY ALL
        """
    )
    items, linked = store.value("SELECT count(*) FROM ids"), store.value("SELECT count(*) FROM links")
    if not linked and ordered:
        raise InputError(
            f"{staging.files['orders']}: no two items are in {config.orders.min_support} orders together, more often "
            "than by chance; give more orders, or lower --min-support, --min-llr or --min-confidence"
        )
    if not linked:
        raise InputError("no link between two items was found in the input")
    sold = "UNION FROM order_items SELECT item" if ordered else ""
    counts = {
        "duplicate_links_merged": store.value("SELECT sum(times - 1)::BIGINT FROM links"),
        "duplicate_items_merged": store.value("SELECT coalesce(sum(times - 1), 0)::BIGINT FROM repeated"),
        "items_without_link_left_out": store.value(
            f"SELECT count(*) FROM (FROM raw_items SELECT item {sold}) ANTI JOIN (FROM ids SELECT item) USING (item)"
        ),
    }
    links = {relation: staging.folder / f"links-{relation.label}.parquet" for relation in Relation}
    for relation, file in links.items():
        columns = "source, target, weight, held_out"
        sql = f"SELECT {columns} FROM links WHERE relation = {int(relation)} ORDER BY source, target"
        store.write(sql, file, WORKING_LINKS)
    store.run("DROP TABLE links")
    return CatalogFiles(items, links, counts, order_split)


def load_catalog(files: CatalogFiles) -> Catalog:
    links = {relation: _read_links(path) for relation, path in files.links.items()}
    return Catalog(files.items, links, files.order_split, files.links)


def _read_links(path: Path) -> Links:
    unread = np.broadcast_to(np.float32(np.nan), pq.read_metadata(path).num_rows)  # see `Catalog.weights`
    return Links(_read_column(path, "source"), _read_column(path, "target"), unread)


def _read_column(path: Path, name: str) -> np.ndarray:
    array = np.empty(pq.read_metadata(path).num_rows, WORKING_LINKS.field(name).type.to_pandas_dtype())
    for part, values in _parts(path, name):
        array[part] = values
    return array


def _parts(path: Path, name: str) -> Iterator[tuple[slice, np.ndarray]]:
    at = 0
    for batch in pq.ParquetFile(path).iter_batches(SLICE, columns=[name], use_threads=False):
        yield slice(at, at + batch.num_rows), batch.column(0).to_numpy(zero_copy_only=False)
        at += batch.num_rows


def _orders(store: Store, staging: Staging, config: PrepareConfig) -> str | None:
    clean_orders(store, config.orders, staging.rejects, staging.files["orders"], config.max_bad)
    order_split = None
    members = "SELECT o, item FROM order_items"
    if config.protocol == "baskets":
        order_split = split_orders(store, config.seed)
        if not staging.rows["interactions"]:
            count_customers(store)
        members = "SELECT o, item FROM order_items JOIN order_stage USING (o) WHERE stage = 0"
    with staging.progress.task("linking items bought together"):
        link_orders(store, config.orders, members, Relation.CO_PURCHASE)
    if staging.rows["views"]:
        with staging.progress.task("linking items viewed together"):
            link_orders(store, config.orders, _sessions(store, staging, config, order_split), Relation.CO_VIEW)
    return order_split


def _sessions(store: Store, staging: Staging, config: PrepareConfig, order_split: str | None) -> str:
    """A query of the sessions' items. With a split by time, sessions after the last training order are not known."""
    when = "true"
    if order_split == "temporal" and store.value("SELECT count(nullif(time, '')) FROM raw_views"):
        time = reading_of_time(store, "raw_views")
        when = f"{time} <= ({LAST_TRAINING_TIME})"
        bad = f"SELECT count(*), min(line, {FIRST}) FROM raw_views WHERE {time} IS NULL"
        count, lines = store.rows(bad)[0]
        if count:
            staging.rejects.reject_all(staging.files["views"], "bad time", lines, count)
            staging.rejects.check(config.max_bad)
        left_out = store.value(f"SELECT count(*) FROM raw_views WHERE {time} > ({LAST_TRAINING_TIME})")
        staging.notes["views_after_the_training_orders_left_out"] = left_out
    elif order_split == "temporal":
        staging.notes["views"] = "all sessions: without a time column, later ones cannot be told"
    store.run(
        f"""
        CREATE TABLE session_items AS SELECT o, item, min(line) AS line, count(*) OVER (PARTITION BY o) AS size FROM (
            SELECT dense_rank() OVER (ORDER BY session) AS o, item, line FROM raw_views WHERE {when}
          ) GROUP BY o, item
        """
    )
    large = f"FROM session_items WHERE size > {config.orders.max_basket}"
    count, lines = store.rows(f"SELECT count(*), min(line, {FIRST}) {large}")[0]
    staging.rejects.filter(staging.files["views"], "large session", lines or [], count)
    return f"SELECT o, item FROM session_items WHERE size <= {config.orders.max_basket}"


def _count_self_links(store: Store, staging: Staging) -> None:
    sql = f"SELECT count(*), min(line, {FIRST}) FROM raw_links WHERE source = target"
    count, lines = store.rows(sql)[0]
    staging.rejects.filter(staging.files.get("links", ""), "link to itself", lines or [], count)


def _number_items(store: Store, config: PrepareConfig, ordered: bool, order_split: str | None) -> None:
    """Items with a link; with --keep-unlinked also those only described. With baskets: what training orders hold."""
    wanted = [f"SELECT {end} AS item FROM raw_links WHERE source <> target" for end in ("source", "target")]
    if config.keep_unlinked:
        wanted.append("SELECT item FROM raw_items")
        if ordered:
            titled = "SELECT item FROM raw_orders WHERE coalesce(title, '') <> ''"
            wanted.append(f"SELECT item FROM order_items SEMI JOIN ({titled}) USING (item)")
    if order_split:
        wanted = ["SELECT item FROM order_items JOIN order_stage USING (o) WHERE stage = 0"]
    store.run(
        f"""
        CREATE TABLE ids AS SELECT item, (row_number() OVER (ORDER BY item) - 1)::INTEGER AS row
          FROM (SELECT DISTINCT item FROM ({" UNION ALL ".join(wanted)}))
        """
    )


def _write_items(store: Store, path: Path) -> None:
    """The first title (brand, category) that is given, --items before all; else what order lines mostly call it.

    Only items described more than once are grouped: grouping a whole catalogue by text costs much memory.
    """
    store.run("CREATE TABLE repeated AS SELECT item, count(*) AS times FROM raw_items GROUP BY item HAVING times > 1")
    store.run(
        """
        CREATE TABLE order_titles AS
          SELECT item, title FROM raw_orders WHERE coalesce(title, '') <> ''
          GROUP BY item, title QUALIFY row_number() OVER (PARTITION BY item ORDER BY count(*) DESC, title) = 1
        """
    )
    names = ("title", "brand", "category")
    first = ", ".join(f"arg_min({name}, place) FILTER ({name} IS NOT NULL) AS {name}" for name in names)
    store.write(
        f"""
        SELECT i.row, i.item AS item_id, coalesce(d.title, o.title) AS title, d.brand, d.category
          FROM ids i LEFT JOIN (
            SELECT item, {", ".join(names)} FROM raw_items ANTI JOIN repeated USING (item)
            UNION ALL SELECT item, {first} FROM raw_items SEMI JOIN repeated USING (item) GROUP BY item
          ) d ON i.item = d.item
          LEFT JOIN order_titles o ON i.item = o.item ORDER BY i.row
        """,
        path,
        ITEM_SCHEMA,
    )
