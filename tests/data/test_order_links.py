"""Which order lines count, and how."""

import json

import numpy as np
import pytest

from logirec.config import OrderRules, PrepareConfig
from logirec.data.dataset import Dataset
from logirec.data.prepare import Inputs, prepare
from logirec.data.query_sets import KINDS
from logirec.errors import InputError
from logirec.relation import Relation
from tests.data import oracle

LOOSE = {"min_support": 1, "min_llr": 0, "min_confidence": 0}


def made(tmp_path, text, **config):
    path = tmp_path / "orders.csv"
    path.write_text(text)
    out = tmp_path / "out"
    report = prepare(Inputs(path), out, PrepareConfig(**{"orders": LOOSE, **config}), force=True)
    return Dataset.load(out), report


def linked(dataset):
    ids, links = dataset.vocabulary.item_ids, dataset.graph("test").links[Relation.CO_PURCHASE]
    return {(ids[s], ids[t]) for s, t in zip(links.source, links.target, strict=True)}


SOUND = "1,a,1,2.5,Apple\n1,b,1,2.5,Bread\n2,c,1,2.5,Corn\n2,d,1,2.5,Dill\n"


def test_lines_that_are_no_sale_are_filtered_and_counted(tmp_path):
    text = "InvoiceNo,StockCode,Quantity,UnitPrice,Description\n" + SOUND
    text += "C3,a,-1,2.5,Apple\nC3,x,1,2.5,Cancelled thing\n"  # a cancelled order
    text += "1,e,-2,2.5,Egg\n"  # a return
    text += "1,f,1,0,Freebie\n"  # no price
    text += "1,POST,1,9.0,POSTAGE\n1,M,1,9.0,Manual\n1,gift_1,1,9.0,Dotcomgiftshop Gift Voucher £20.00\n"
    dataset, report = made(tmp_path, text)
    assert linked(dataset) == {("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")}
    assert report["lines"]["filtered"] == {"cancelled": 2, "no price": 1, "not a product": 3, "return": 1}
    assert report["lines"]["rejected"] == {}
    rows = [json.loads(line) for line in (dataset.folder / "rejects.jsonl").read_text().splitlines()]
    assert {row["reason"]: row["first_lines"] for row in rows}["cancelled"] == [6, 7]
    assert dataset.descriptions["title"] == ["Apple", "Bread", "Corn", "Dill"]


def test_products_that_only_look_like_codes_are_kept(tmp_path):
    """One-letter ids and orders that all begin with C are a small shop, not postage and cancellations."""
    dataset, report = made(tmp_path, "order_id,item_id\nC1,M\nC1,S\nC2,D\nC2,B\n")
    assert linked(dataset) == {("M", "S"), ("S", "M"), ("B", "D"), ("D", "B")}
    assert report["lines"]["filtered"] == {}


def test_a_status_column_is_heard(tmp_path):
    dataset, report = made(tmp_path, "order_id,item_id,status\n1,a,paid\n1,b,paid\n2,c,Refunded\n3,c,paid\n3,d,paid\n")
    assert report["lines"]["filtered"] == {"cancelled": 1}
    assert ("c", "d") in linked(dataset)


def test_large_orders_are_left_out(tmp_path):
    big = "".join(f"9,x{n},1,1,X\n" for n in range(6))
    text = "order_id,item_id,quantity,price,title\n" + SOUND + big
    dataset, report = made(tmp_path, text, orders={**LOOSE, "max_basket": 5})
    assert report["lines"]["filtered"] == {"large order": 6}
    assert len(dataset.vocabulary) == 4
    assert len(made(tmp_path, text, orders={**LOOSE, "max_basket": 6})[0].vocabulary) == 10


def test_bad_numbers_and_times_are_rejected(tmp_path):
    text = "order_id,item_id,quantity,time\n" + "".join(f"{n},{i},1,2024-01-0{n}\n" for n in range(1, 9) for i in "ab")
    text += "3,c,many,2024-01-03\n4,d,1,yesterday\n" + "10,e,1,2024-01-09\n" * 1
    with pytest.raises(InputError, match=r"bad quantity, 1 \(line 18\).*bad time, 1 \(line 19\)"):
        made(tmp_path, text)
    _, report = made(tmp_path, text, max_bad=0.2)
    assert report["lines"]["rejected"] == {"bad quantity": 1, "bad time": 1}


def lines_of(dataset):
    ids, lines = dataset.vocabulary.item_ids, dataset.lines()
    return None if lines is None else ["".join(ids[row] for row in lines.list(n)) for n in range(len(lines))]


MANY = [list("dabc"), list("cab"), list("bd"), list("adb")] * 5  # so that each item is in some training order


def test_training_orders_keep_the_order_of_their_lines(tmp_path):
    text = "order_id,item_id\n" + "".join(
        f"{n},{item}\n" for n, order in enumerate(MANY) for item in [*order, order[0]]
    )
    dataset, _ = made(tmp_path, text, protocol="baskets")
    assert set(lines_of(dataset)) == {"dabc", "cab", "bd", "adb"}  # what is named again stands where it was first
    for kind in KINDS:
        members = dataset.queries("test", kind).members
        assert all((np.diff(members.list(n)) > 0).all() for n in range(len(members)))  # sets, which tell no order
    baskets = "".join(",".join(order) + "\n" for order in MANY)
    dataset, _ = made(tmp_path, baskets, protocol="baskets")
    assert set(lines_of(dataset)) == {"dabc", "cab", "bd", "adb"}


def test_a_place_is_taken_from_the_line_where_it_says_one(tmp_path):
    lines = [(n, item, place) for n, order in enumerate(MANY) for place, item in enumerate(order, 9)]
    text = "".join(f"{n},{item},{place}\n" for n, item, place in sorted(lines, key=lambda line: line[::-1]))
    dataset, _ = made(tmp_path, "order_id,item_id,add_to_cart_order\n" + text, protocol="baskets")
    assert set(lines_of(dataset)) == {"dabc", "cab", "bd", "adb"}
    _, report = made(tmp_path, "order_id,item_id,line_number\n" + text + "1,a,first\n", protocol="baskets", max_bad=0.1)
    assert report["lines"]["rejected"] == {"bad place": 1}


def test_lines_that_are_sorted_by_item_tell_no_order(tmp_path):
    text = "order_id,item_id\n" + "".join(f"{n},{item}\n" for n, order in enumerate(MANY) for item in sorted(order))
    dataset, _ = made(tmp_path, text, protocol="baskets")
    assert lines_of(dataset) is None
    assert len(dataset.baskets()) == 14


@pytest.mark.parametrize(
    "times",
    [
        ["2024-01-02", "2024-02-01", "2024-03-13"],
        ["2024-01-02T10:00:00", "2024-02-01T10:00:00", "2024-03-13T10:00:00"],
        ["01/02/2024 8:26", "02/01/2024 8:26", "03/13/2024 8:26"],  # month first: only that fits all three
        ["02/01/2024", "01/02/2024", "13/03/2024"],  # day first
        ["1704153600", "1706745600", "1710288000"],
        ["1704153600000", "1706745600000", "1710288000000"],
        ["20240102", "20240201", "20240313"],
    ],
)
def test_times_in_any_common_form_order_the_split(tmp_path, times):
    """Orders in reverse in the file; the split must follow the times, so the last of the year is the test."""
    orders = [(n, time) for n, time in enumerate(times * 4)]
    lines = [f"{n},{item},{time}\n" for n, time in orders for item in ("a", "b")]
    lines += [f"{100 + n},x{n % 2},{times[0]}\n" for n in range(12)]
    _, report = made(tmp_path, "order_id,item_id,time\n" + "".join(reversed(lines)), protocol="baskets")
    assert report["notes"]["split"] == "temporal"
    # 24 orders: 17 train, 5 valid, 2 test; the latest time belongs to four of them, all in valid or test.
    assert report["notes"]["test"]["listed"] == 2
    assert report["notes"]["valid"]["listed"] == 5


def test_thresholds_against_the_oracle(tmp_path, shop):
    baskets = [items for _, items in oracle.orders_of(shop.orders)]
    for rules in (
        OrderRules(),
        OrderRules(min_support=8, min_llr=30, min_confidence=0.1, top_links=3),
        OrderRules(min_support=1, min_llr=0, min_confidence=0, top_links=1),
    ):
        out = tmp_path / "out"
        prepare(Inputs(shop.orders), out, PrepareConfig(orders=rules), force=True)
        assert linked(Dataset.load(out)) == set(oracle.order_links(baskets, rules))


def test_llr_against_scipy():
    from scipy.stats import chi2_contingency

    for both, first, second, n in ((10, 30, 40, 200), (3, 3, 9, 1000), (0, 5, 6, 50)):
        table = [[both, first - both], [second - both, n - first - second + both]]
        expected = chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
        assert oracle.log_likelihood_ratio(both, first, second, n) == pytest.approx(expected)


def test_numbers_as_shops_write_them(tmp_path):
    prices = ["2.55", "2,55", "1,234.50", "1.234,50", "1,234,567", "1.234.567,8", "$3", "4 €", "-1", "0", "free"]
    text = "order_id;item_id;price\n" + "".join(
        f"{n};{i};{p}\n" for n, p in enumerate(prices) for i in ("ab", "cd")[n % 2]
    )
    _, report = made(tmp_path, text, max_bad=0.2)
    assert report["lines"]["rejected"] == {"bad price": 2}
    assert report["lines"]["filtered"] == {"no price": 4}
    with pytest.raises(InputError, match=r"read on without the column \(--columns price=-\) or raise --max-bad"):
        made(tmp_path, text)


def test_a_shop_too_small_for_its_rules_is_told_which(tmp_path):
    with pytest.raises(InputError, match=r"orders.csv: no two items are in 3 orders together.*--min-support"):
        made(tmp_path, "order_id,item_id\n1,a\n1,b\n2,a\n2,b\n", orders={})


def test_no_order_left_is_one_error(tmp_path):
    with pytest.raises(InputError, match="no order is left"):
        made(tmp_path, "order_id,item_id,quantity\n1,a,-1\n1,b,-1\n")
