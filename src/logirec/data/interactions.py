"""Staged interactions -> interactions.parquet, once the catalogue has numbered the items."""

from pathlib import Path

import pyarrow as pa

from logirec.data.rejects import FIRST
from logirec.data.staging import Staging
from logirec.data.store import Store
from logirec.data.times import reading_of_time
from logirec.errors import InputError

SCHEMA = pa.schema({"user": pa.int32(), "item": pa.int32(), "rating": pa.float32(), "time": pa.int64()})


def write_interactions(store: Store, staging: Staging, path: Path) -> dict[str, int]:
    """user, item row, rating, time (seconds) of the interactions with items of the catalogue, oldest first."""
    no_header = staging.notes.pop("interactions_without_header", False)
    user, item = _which_is_the_item(store) if no_header else ("user", "item")
    file = staging.files.get("interactions", staging.files.get("orders", ""))
    has_time = store.value("SELECT count(nullif(time, '')) FROM raw_interactions")
    time = reading_of_time(store, "raw_interactions") if has_time else "NULL::TIMESTAMP"
    store.run(
        f"""
        CREATE TABLE rated AS SELECT r.{user} AS user, r.{item} AS item, line,
          try_cast(nullif(rating, '') AS FLOAT) AS rating, epoch({time})::BIGINT AS time,
          CASE WHEN nullif(rating, '') IS NOT NULL AND NOT coalesce(isfinite(try_cast(rating AS FLOAT)), false)
              THEN 'bad rating'
            WHEN nullif(time, '') IS NOT NULL AND {time} IS NULL THEN 'bad time' END AS rejected
        FROM raw_interactions r
        """
    )
    sql = f"SELECT rejected, count(*), min(line, {FIRST}) FROM rated WHERE rejected IS NOT NULL GROUP BY 1 ORDER BY 1"
    for reason, count, lines in store.rows(sql):
        staging.rejects.reject_all(file, reason, lines, count)
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
        raise InputError(f"{file}: none of its {total:,} interactions is with an item of the catalogue")
    users = store.value("SELECT count(*) FROM users")
    return {"kept": kept, "users": users, "of_unknown_items": unknown, "duplicates_merged": total - unknown - kept}


def _which_is_the_item(store: Store) -> tuple[str, str]:
    """Columns of a headerless file: Amazon's ratings come as user, item (2014) or item, user (2018)."""
    matches = [
        store.value(f"SELECT count(*) FROM raw_interactions r JOIN ids ON r.{column} = ids.item")
        for column in ("item", "user")
    ]
    return ("user", "item") if matches[0] >= matches[1] else ("item", "user")
