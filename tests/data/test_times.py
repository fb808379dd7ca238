"""Times as people write them: each form reads as its ISO twin."""

from datetime import datetime, timedelta

import pytest

from logirec.data.store import Store
from logirec.data.times import reading_of_time

TIMES = [datetime(2023, 11, 28, 9, 26) + timedelta(days=9 * n, hours=n) for n in range(12)]  # days past the twelfth too

DATES = [
    *("%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%m-%y", "%m-%d-%y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y"),
]


def read(tmp_path, texts):
    with Store(tmp_path, 256) as store:
        rows = ", ".join(f"({n}, '{text}')" for n, text in enumerate(texts))
        store.run(f"CREATE OR REPLACE TABLE raw AS SELECT * FROM (VALUES {rows}) AS t(n, time)")
        return [found for (found,) in store.rows(f"SELECT {reading_of_time(store, 'raw')} FROM raw ORDER BY n")]


@pytest.mark.parametrize("form", DATES)
def test_each_form_reads_as_its_iso_twin(tmp_path, form):
    for clock in ("", " %H:%M", " %H:%M:%S", " %I:%M %p"):
        expected = [datetime.fromisoformat(f"{time:%Y-%m-%d %H:%M}" if clock else f"{time:%Y-%m-%d}") for time in TIMES]
        assert read(tmp_path, [time.strftime(form + clock) for time in TIMES]) == expected


def test_seconds_since_1970_and_other_clocks(tmp_path):
    stamps = [1_704_153_600, 1_710_288_000]
    expected = [datetime(2024, 1, 2), datetime(2024, 3, 13)]
    assert read(tmp_path, stamps) == expected
    assert read(tmp_path, [stamp * 1000 for stamp in stamps]) == expected
    first, second = read(tmp_path, [1, 7])
    assert first < second


def test_no_time_is_none(tmp_path):
    assert read(tmp_path, ["2024-01-02", "yesterday", "infinity"])[1:] == [None, None]
