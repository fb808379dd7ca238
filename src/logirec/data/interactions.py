"""Staged interactions -> interactions.parquet, once the catalogue has numbered the items."""

from pathlib import Path

import pyarrow as pa

from logirec.data.order_links import LAST_TRAINING_TIME
from logirec.data.rejects import FIRST
from logirec.data.staging import Staging
from logirec.data.store import Store
from logirec.data.times import reading_of_time
from logirec.errors import InputError

SCHEMA = pa.schema({"user": pa.int32(), "item": pa.int32(), "rating": pa.float32(), "time": pa.int64()})


def write_interactions(store: Store, staging: Staging, path: Path, order_split: str | None) -> dict[str, int]:
    """user, item row, rating, time (seconds) of the interactions with items of the catalogue, oldest first."""
    swap = "coalesce(headless, false)" if _items_come_first(store) else "false"
    has_time = store.value("SELECT count(nullif(time, '')) FROM raw_interactions")
    time = reading_of_time(store, "raw_interactions") if has_time else "NULL::TIMESTAMP"
    store.run(
        f"""
        CREATE TABLE rated AS SELECT line, file, {time} AS moment, epoch({time})::BIGINT AS time,
          CASE WHEN {swap} THEN item ELSE user END AS user, CASE WHEN {swap} THEN user ELSE item END AS item,
          try_cast(nullif(rating, '') AS FLOAT) AS rating,
          CASE WHEN nullif(rating, '') IS NOT NULL AND NOT coalesce(isfinite(try_cast(rating AS FLOAT)), false)
              THEN 'bad rating'
            WHEN nullif(time, '') IS NOT NULL AND {time} IS NULL THEN 'bad time' END AS rejected
        FROM raw_interactions
        """
    )
    bad = "rated WHERE rejected IS NOT NULL"
    sql = f"SELECT file, rejected, count(*), min(line, {FIRST}) FROM {bad} GROUP BY ALL ORDER BY ALL"
    for file, reason, count, lines in store.rows(sql):
        staging.rejects.reject_all(file, reason, lines, count)
    _leave_out_the_future(store, staging, order_split)
    store.run(
        """
        CREATE TABLE users AS SELECT user, (row_number() OVER (ORDER BY user) - 1)::INTEGER AS number
          FROM (SELECT DISTINCT r.user FROM rated r JOIN ids USING (item) WHERE rejected IS NULL)
        """
    )
    kept = store.write(
        """
        SELECT DISTINCT number AS user, ids.row AS item, rating, time
          FROM rated r JOIN ids USING (item) JOIN users ON r.user = users.user WHERE rejected IS NULL
          ORDER BY time NULLS FIRST, user, item, rating NULLS FIRST
        """,
        path,
        SCHEMA,
    )
    total = store.value("SELECT count(*) FROM rated WHERE rejected IS NULL")
    unknown = total - store.value("SELECT count(*) FROM rated JOIN ids USING (item) WHERE rejected IS NULL")
    if total and not kept:
        raise InputError(f"none of the {total:,} interactions is with an item of the catalogue; are the ids the same?")
    users = store.value("SELECT count(*) FROM users")
    return {"kept": kept, "users": users, "of_unknown_items": unknown, "duplicates_merged": total - unknown - kept}


def _leave_out_the_future(store: Store, staging: Staging, order_split: str | None) -> None:
    """With orders split by time, what users did after the last training order is not known."""
    if order_split is None or not staging.rows["interactions"]:
        return  # the customers of training orders are no later than those
    if order_split == "temporal" and store.value("SELECT count(moment) FROM rated"):
        later = f"FROM rated WHERE moment > ({LAST_TRAINING_TIME})"
        staging.notes["interactions_after_the_training_orders_left_out"] = store.value(f"SELECT count(*) {later}")
        store.run(f"DELETE {later}")
    else:
        staging.notes["interactions"] = "all: which of them belong to test orders cannot be told"


def _items_come_first(store: Store) -> bool:
    """Of a headerless file: Amazon's ratings come as user, item (2014) or item, user (2018)."""
    as_said, swapped = (
        store.value(f"SELECT count(*) FROM raw_interactions r JOIN ids ON r.{column} = ids.item WHERE headless")
        for column in ("item", "user")
    )
    return bool(swapped > as_said)
