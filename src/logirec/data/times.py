"""Times as people write them, read in DuckDB."""

from logirec.data.store import Store

YEAR_FIRST = r"regexp_matches({0}, '^\d{{4}}')"  # else 25/12/10 is a day of the year 25
YEAR_LAST = r"regexp_matches({0}, '^\w+[/. -]\w+[/. -]\d{{4}}\b')"  # else 05.01.24 is a day of the year 24
SHORT_YEAR = r"regexp_matches({0}, '^\w+[/. -]\w+[/. -]\d{{2}}\b')"
HALF_DAY = "regexp_matches({0}, '(?i)[ap]m$')"  # which a cast passes over
CAST = "try_cast({0} AS TIMESTAMP)"
DATES = {
    YEAR_FIRST: ("%Y%m%d", "%Y-%m-%d", "%Y/%m/%d"),
    YEAR_LAST: ("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%d-%b-%Y", "%d %b %Y"),
    SHORT_YEAR: ("%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%m-%y", "%m-%d-%y", "%d-%b-%y"),
}
CLOCKS = (" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "")
READINGS = (
    f"CASE WHEN {YEAR_FIRST} AND NOT {HALF_DAY} AND isfinite({CAST}) THEN {CAST} END",
    r"CASE WHEN regexp_full_match({0}, '\d{{9,11}}(\.\d+)?') THEN make_timestamp(({0}::DOUBLE * 1000000)::BIGINT) END",
    r"CASE WHEN regexp_full_match({0}, '\d{{12,14}}') THEN make_timestamp({0}::BIGINT * 1000) END",
    *(
        f"CASE WHEN {fits} THEN try_strptime({{0}}, '{date}{clock}') END"
        for fits, dates in DATES.items()
        for date in dates
        for clock in CLOCKS
    ),
    r"CASE WHEN regexp_full_match({0}, '\d{{1,8}}') THEN make_timestamp({0}::BIGINT * 1000000) END",  # any other clock
)


def reading_of_time(store: Store, table: str, column: str = "time") -> str:
    """An expression for the reading that fits most values of the column: to mix two would mix up days and months."""
    readings = [reading.format(column) for reading in READINGS]
    counts = ", ".join(f"count({reading})" for reading in readings)
    found = store.rows(f"SELECT {counts} FROM {table} WHERE coalesce({column}, '') <> ''")[0]
    return readings[found.index(max(found))]
