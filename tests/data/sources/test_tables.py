import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from logirec.data.rejects import Rejects
from logirec.data.sources.tables import as_text, open_table, read_ragged, read_rows, recognise
from logirec.errors import InputError


def write(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("header", "order", "item", "time"),
    [
        ("order_id,item_id,time", 0, 1, 2),
        ("StockCode;InvoiceDate;InvoiceNo", 2, 0, 1),
        ("product_id\tOrder ID\tTimestamp", 1, 0, 2),
        ("SKU|transaction-id|purchase_date", 1, 0, 2),
    ],
)
def test_common_names_are_recognised(tmp_path, header, order, item, time):
    table = open_table(write(tmp_path, header + "\n"))
    assert recognise(table, {"order": True, "item": True, "time": False}, {}) == {
        "order": order,
        "item": item,
        "time": time,
    }


def test_override_wins_where_the_table_has_it(tmp_path):
    table = open_table(write(tmp_path, "order_id,item_id,bon\n"))
    assert recognise(table, {"order": True, "item": True}, {"order": "bon"})["order"] == 2
    assert recognise(table, {"order": True, "item": True}, {"order": "another table's"})["order"] == 0


def test_a_missing_column_is_named(tmp_path):
    table = open_table(write(tmp_path, "order_id,colour\n"))
    with pytest.raises(InputError, match=r"no column for item.*--columns item="):
        recognise(table, {"order": True, "item": True}, {})


def test_rows_keep_their_line_and_broken_ones_are_counted(tmp_path):
    text = b'order,item\n1,a\n2\n3,c,extra\n\xff,d\n4,"e, with comma"\n'
    rejects = Rejects()
    rows = list(read_rows(open_table(write(tmp_path, text)), [0, 1], rejects))
    assert rows == [(2, ["1", "a"]), (6, ["4", "e, with comma"])]
    assert rejects.totals("rejected") == {"not UTF-8": 1, "wrong number of fields": 2}
    assert rejects.lines == {"table.csv": 5}


def test_a_quote_that_never_closes_costs_the_lines_it_swallowed(tmp_path):
    text = 'order,item\n1,a\n2,"b\n3,c\n4,d\n'
    rejects = Rejects()
    rows = list(read_rows(open_table(write(tmp_path, text)), [0, 1], rejects))
    assert [row.values for row in rows] == [["1", "a"]]
    assert next(rejects.rows())["first_lines"] == [3]
    assert rejects.totals("rejected") == {"broken CSV": 3}


def test_a_quote_that_closes_far_below_costs_the_lines_between(tmp_path):
    text = 'order,item\n1,a\n2,"b\n' + "3,c\n" * 20 + '4,d"\n5,e\n6,"two\nlines"\n'
    rejects = Rejects()
    rows = list(read_rows(open_table(write(tmp_path, text)), [0, 1], rejects))
    assert [row.values for row in rows] == [["1", "a"], ["5", "e"], ["6", "two\nlines"]]
    assert rejects.totals("rejected") == {"broken CSV": 22}


def test_one_basket_a_line(tmp_path):
    table = open_table(write(tmp_path, "milk,bread\nmilk\n"))
    assert table.columns == ()
    assert [row.values for row in read_ragged(table, Rejects(), lambda _: None)] == [["milk", "bread"], ["milk"]]


def test_parquet_of_mixed_types(tmp_path):
    path = tmp_path / "table.parquet"
    time = datetime.datetime(2024, 5, 1, 12, 30)
    columns = {"order": [1, 2], "item": ["a", None], "customer": [17850.0, None], "time": [time, None]}
    pq.write_table(pa.table(columns), path)
    rows = list(read_rows(open_table(path), [0, 1, 2, 3], Rejects()))
    assert [row.values for row in rows] == [["1", "a", "17850", "2024-05-01 12:30:00"], ["2", "", "", ""]]


def test_parquet_of_a_wrong_type_is_counted(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"order": [1, 2], "item": [["a"], ["b"]]}), path)
    rejects = Rejects()
    assert list(read_rows(open_table(path), [0, 1], rejects)) == []
    assert rejects.totals("rejected") == {"wrong type": 2}


@pytest.mark.parametrize("content", [b"", b"PAR1 not really PAR1"])
def test_broken_parquet_is_one_error(tmp_path, content):
    with pytest.raises(InputError, match="Parquet"):
        open_table(write(tmp_path, content, "table.parquet"))


def test_text_of_cells():
    assert as_text(True) == "True"
    assert as_text(float("nan")) == ""
    assert as_text(2.5) == "2.5"
    assert as_text(float("inf")) == "inf"
    assert as_text(Decimal("7.00")) == "7"
    assert as_text(Decimal("0.25")) == "0.25"
    assert as_text(b"\xff") is None
    assert as_text(datetime.date(2024, 1, 2)) == "2024-01-02"


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        ("date,fig,milk", False),
        ("date,quantity", True),
        ("sku,colour", True),
        ("milk,bread", False),
        ("bon,ding", True),
    ],
)
def test_a_header_is_told_from_a_basket(tmp_path, first, is_header):
    table = open_table(write(tmp_path, first + "\n"), named=("bon",))
    assert bool(table.columns) is is_header
