"""Times as people write them, read in DuckDB."""

from logirec.data.store import Store

READINGS = (
    "CASE WHEN isfinite(try_cast({0} AS TIMESTAMP)) THEN try_cast({0} AS TIMESTAMP) END",
    r"CASE WHEN regexp_full_match({0}, '\d{{9,11}}(\.\d+)?') THEN make_timestamp(({0}::DOUBLE * 1000000)::BIGINT) END",
    r"CASE WHEN regexp_full_match({0}, '\d{{12,14}}') THEN make_timestamp({0}::BIGINT * 1000) END",
    *(
        f"try_strptime({{0}}, '{form}')"
        for date in ("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%m/%d/%y", "%d/%m/%y", "%Y%m%d")
        for form in (f"{date} %H:%M", f"{date} %H:%M:%S", f"{date} %I:%M %p", f"{date} %I:%M:%S %p", date)
    ),
    r"CASE WHEN regexp_full_match({0}, '\d{{1,8}}') THEN make_timestamp({0}::BIGINT * 1000000) END",  # any other clock
)


def reading_of_time(store: Store, table: str, column: str = "time") -> str:
    """An expression for the reading that fits most values of the column: to mix two would mix up days and months."""
    readings = [reading.format(column) for reading in READINGS]
    counts = ", ".join(f"count({reading})" for reading in readings)
    found = store.rows(f"SELECT {counts} FROM {table} WHERE coalesce({column}, '') <> ''")[0]
    return readings[found.index(max(found))]
