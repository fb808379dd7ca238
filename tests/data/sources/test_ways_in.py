"""Each format, from a small file of known content to the dataset."""

import gzip
import json
import pickle
from collections import defaultdict
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from logirec.config import PrepareConfig
from logirec.data.dataset import Dataset
from logirec.data.prepare import Inputs, prepare
from logirec.data.sources import locate
from logirec.errors import InputError, UsageError
from logirec.relation import Relation


def made(tmp_path, source, config=None, **inputs):
    """The dataset of a source, and its report."""
    out = tmp_path / "out"
    report = prepare(Inputs(source, **inputs), out, config or PrepareConfig(), force=True)
    return Dataset.load(out), report


def links_of(dataset, relation=Relation.CO_PURCHASE):
    """{(source id, target id): weight} over all stages."""
    links, ids = dataset.graph("test").links[relation], dataset.vocabulary.item_ids
    return {(ids[s], ids[t]): round(float(w), 6) for s, t, w in zip(*links, strict=True)}


def test_amazon_2018_and_2014_lines_make_the_same_dataset(tmp_path):
    new = [
        {"asin": "A", "title": "Alpha", "also_buy": ["B", "C"], "also_view": ["D"]},
        {"asin": "B", "title": "Beta", "also_buy": ["A"], "also_view": []},
        {"asin": "E", "title": "Nobody's neighbour"},
    ]
    old = [
        {k: v for k, v in p.items() if not k.startswith("also")}
        | {"related": {"also_bought": p.get("also_buy", []), "also_viewed": p.get("also_view", [])}}
        for p in new
    ]
    (tmp_path / "new.json.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, new)).encode()))
    (tmp_path / "old.jsonl").write_text("\n".join(map(repr, old)))
    for name in ("new.json.gz", "old.jsonl"):
        dataset, report = made(tmp_path, tmp_path / name)
        assert report["source"]["format"] == "amazon"
        assert dataset.vocabulary.item_ids == ("A", "B", "C", "D")
        assert dataset.descriptions["title"] == ["Alpha", "Beta", None, None]
        assert set(links_of(dataset)) == {("A", "B"), ("A", "C"), ("B", "A")}
        assert set(links_of(dataset, Relation.CO_VIEW)) == {("A", "D")}
        assert report["links"]["co_purchase"]["undirected"] == 2
        assert report["merged"]["items_without_link_left_out"] == 1


def test_duplicate_rows_merge_and_self_links_go(tmp_path):
    lines = [
        {"asin": "A", "also_buy": ["B", "A", "B"]},
        {"asin": "A", "title": "Alpha", "also_buy": ["C"]},
        {"asin": "A", "title": "Later title", "brand": "Acme", "also_buy": ["C"]},
    ]
    path = tmp_path / "meta.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    dataset, report = made(tmp_path, path)
    assert set(links_of(dataset)) == {("A", "B"), ("A", "C")}
    assert dataset.descriptions["title"][0] == "Alpha"
    assert dataset.descriptions["brand"][0] == "Acme"
    assert report["merged"]["duplicate_items_merged"] == 2
    assert report["merged"]["duplicate_links_merged"] == 2
    assert report["lines"]["filtered"] == {"link to itself": 1}


def test_the_first_of_a_list_is_the_strongest_link(tmp_path):
    lists = {"A": ["C", "B", "D"], "B": ["D", "A"]}
    amazon = tmp_path / "meta.jsonl"
    amazon.write_text("\n".join(json.dumps({"asin": a, "also_buy": b}) for a, b in lists.items()))
    rechorus = tmp_path / "rechorus"
    rechorus.mkdir()
    rows = "".join(f"{a}\t{json.dumps(b)}\n" for a, b in lists.items())
    (rechorus / "item_meta.csv").write_text(f"item_id\tr_complement\n{rows}")
    for source in (amazon, rechorus):
        found = links_of(made(tmp_path, source)[0])
        assert found[("A", "C")] > found[("A", "B")] > found[("A", "D")]
        assert found[("B", "D")] > found[("B", "A")]


def test_a_long_list_is_in_order_to_its_end(tmp_path):
    path = tmp_path / "meta.jsonl"
    path.write_text(json.dumps({"asin": "A", "also_buy": [f"B{number:03}" for number in range(250)]}))
    found = links_of(made(tmp_path, path)[0])
    weights = [found[link] for link in sorted(found)]
    assert len(weights) == 250
    assert all(one > other for one, other in pairwise(weights))


def test_keep_unlinked(tmp_path):
    path = tmp_path / "meta.jsonl"
    path.write_text('{"asin": "A", "also_buy": ["B"]}\n{"asin": "Z", "title": "Lonely"}')
    dataset, _ = made(tmp_path, path, PrepareConfig(keep_unlinked=True))
    assert dataset.vocabulary.item_ids == ("A", "B", "Z")


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet"])
def test_links(tmp_path, form):
    rows = [("a", "b", "complement", 0.5), ("a", "b", "also_buy", 0.25), ("b", "c", "co-view", 1.0)]
    path = tmp_path / f"links.{form}"
    if form == "parquet":
        names = ("source", "target", "relation", "weight")
        pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), path)
    else:
        sign = {"csv": ",", "tsv": "\t"}[form]
        path.write_text(
            "\n".join(sign.join(map(str, row)) for row in [("source", "target", "relation", "weight"), *rows])
        )
    dataset, report = made(tmp_path, path)
    assert report["source"]["format"] == "links"
    assert links_of(dataset) == {("a", "b"): 0.5}
    assert links_of(dataset, Relation.CO_VIEW) == {("b", "c"): 1.0}


def test_bad_links_are_counted_by_reason(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("source,target,relation,weight\na,b,buy,1\na,c,married,1\na,d,buy,-1\n,e,buy,1\na,f,buy,nan\n")
    with pytest.raises(InputError, match="4 of 5 lines rejected"):
        made(tmp_path, path)
    assert not (tmp_path / "out").exists()
    dataset, report = made(tmp_path, path, PrepareConfig(max_bad=0.9))
    assert report["lines"]["rejected"] == {
        "no item id": 1,
        "unknown relation": 1,
        "weight is not a positive number": 2,
    }
    rejects = [json.loads(line) for line in (dataset.folder / "rejects.jsonl").read_text().splitlines()]
    assert {r["reason"]: r["first_lines"] for r in rejects}["weight is not a positive number"] == [4, 6]


def test_rechorus(tmp_path):
    folder = tmp_path / "office"
    folder.mkdir()
    (folder / "item_meta.csv").write_text(
        "item_id\ti_category\tr_complement\tr_substitute\n1\t7\t[2, 3]\t[]\n2\t7\t[]\t['3']\n3\t8\t[x]\t[]\n"
    )
    (folder / "train.csv").write_text("user_id\titem_id\ttime\n9\t1\t100\n9\t2\t50\n9\t2\t50\n8\t77\t60\n")
    (folder / "test.csv").write_text("user_id\titem_id\ttime\n9\t3\t200\n")
    (folder / "Office.item2index").write_text("B00A\t1\nB00B\t2\n")
    (folder / "Office.text").write_text("id\ttext\nB00A\tPaper\nB00B\tPen\n")
    dataset, report = made(tmp_path, folder, PrepareConfig(max_bad=0.5))
    assert report["source"]["format"] == "rechorus"
    assert set(links_of(dataset)) == {("1", "2"), ("1", "3")}
    assert set(links_of(dataset, Relation.CO_VIEW)) == {("2", "3")}
    assert dataset.descriptions["title"] == ["Paper", "Pen", None]
    assert dataset.descriptions["category"][:2] == ["7", "7"]
    assert report["lines"]["rejected"] == {"list column is not a list": 1}
    interactions = dataset.interactions()
    assert interactions["time"].tolist() == [50, 100, 200]
    assert interactions["item"].tolist() == [1, 0, 2]
    counts = report["merged"]["interactions"]
    assert counts == {"kept": 3, "users": 1, "of_unknown_items": 1, "duplicates_merged": 1}


ORDER_LINES = "order_id,item_id,time\n" + "".join(
    f"{order},{item},2024-01-{day:02d}\n"
    for day, (order, items) in enumerate([(n, ("a", "b", "c")[: 2 + n % 2]) for n in range(1, 21)], start=1)
    for item in items
)
ORDER_LINES += "99,d,2024-02-01\n"  # without it every order holds a and b, which is no more than chance


def test_orders_become_links_with_their_chance_as_weight(tmp_path):
    path = tmp_path / "orders.csv"
    path.write_text(ORDER_LINES)
    rules = {"min_support": 2, "min_llr": 0, "min_confidence": 0}
    dataset, report = made(tmp_path, path, PrepareConfig(orders=rules))
    assert report["source"]["format"] == "orders"
    # 20 orders with a and b, 10 of them with c, one order with d alone.
    assert links_of(dataset) == {
        ("a", "b"): 1.0, ("b", "a"): 1.0, ("a", "c"): 0.5, ("b", "c"): 0.5, ("c", "a"): 1.0, ("c", "b"): 1.0,
    }  # fmt: skip


def test_orders_with_views_items_and_own_columns(tmp_path):
    orders, views, items = tmp_path / "o.csv", tmp_path / "v.csv", tmp_path / "i.csv"
    orders.write_text(ORDER_LINES.replace("order_id,item_id,time", "bon,ding,wann"))
    views.write_text("session_id,item_id\n" + "".join(f"{s},a\n{s},z\n" for s in range(5)) + "7,y\n")
    items.write_text("item_id,title,category\na,Apple,Fruit\n")
    rules = {"min_support": 2, "min_llr": 0, "min_confidence": 0}
    columns = {"order": "bon", "item": "ding", "time": "wann"}
    config = PrepareConfig(orders=rules)
    dataset, _ = made(tmp_path, orders, config, format="orders", columns=columns, views=views, items=items)
    assert set(links_of(dataset, Relation.CO_VIEW)) == {("a", "z"), ("z", "a")}
    assert dataset.descriptions["title"][0] == "Apple"
    assert dataset.descriptions["category"][0] == "Fruit"


def test_item_groups_are_looked_up_beside(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "orders.csv").write_text(ORDER_LINES)
    (folder / "products.csv").write_text("product_id,product_name,aisle_id,department_id\na,Apple,1,9\nb,Bread,2,9\n")
    (folder / "aisles.csv").write_text("aisle_id,aisle\n1,fruit\n2,bakery\n")
    (folder / "departments.csv").write_text("department_id,department\n9,food\n")
    config = PrepareConfig(orders={"min_support": 2, "min_llr": 0, "min_confidence": 0})
    dataset, _ = made(tmp_path, folder, config)
    assert dataset.descriptions["title"][:2] == ["Apple", "Bread"]
    assert dataset.descriptions["category"][:2] == ["food > fruit", "food > bakery"]


@pytest.mark.parametrize("swapped", [False, True])
def test_ratings_without_header_know_items_from_users(tmp_path, swapped):
    meta, ratings = tmp_path / "meta.jsonl", tmp_path / "ratings.csv"
    meta.write_text('{"asin": "A", "also_buy": ["B"]}')
    rows = [("u1", "A", "5.0", "100"), ("u2", "B", "3.0", "50"), ("u2", "X", "1.0", "60")]
    ratings.write_text("\n".join(",".join((i, u, r, t) if swapped else (u, i, r, t)) for u, i, r, t in rows))
    dataset, report = made(tmp_path, meta, interactions=ratings)
    interactions = dataset.interactions()
    assert interactions["item"].tolist() == [1, 0]
    assert interactions["rating"].tolist() == [3.0, 5.0]
    assert report["merged"]["interactions"]["of_unknown_items"] == 1


def test_review_lines_are_interactions(tmp_path):
    meta, reviews = tmp_path / "meta.jsonl", tmp_path / "reviews.json.gz"
    meta.write_text('{"asin": "A", "also_buy": ["B"]}')
    line = {"reviewerID": "u", "asin": "B", "overall": 4.0, "unixReviewTime": 7, "reviewText": "fine"}
    reviews.write_bytes(gzip.compress(json.dumps(line).encode()))
    dataset, _ = made(tmp_path, meta, interactions=reviews)
    assert {k: v.tolist() for k, v in dataset.interactions().items()} == {
        "user": [0], "item": [1], "rating": [4.0], "time": [7],
    }  # fmt: skip


def released_folder(folder, names, links, low, high):
    """A folder in the authors' form. links: number -> relation number -> pairs; low, high: stage -> triplets."""
    for sub in ("lowOrder", "highOrder"):
        (folder / sub).mkdir(parents=True)
    (folder / "id2ent.pkl").write_bytes(pickle.dumps(names))
    plain = [f"{h}\t{r}\t{t}" for r, pairs in links.items() for h, t in pairs]
    for stage in ("train", "valid", "test"):
        triplets = [f"{q}\t0\t2\t{a}" for q, a in low[stage]]
        (folder / "lowOrder" / f"{stage}.txt").write_text("\n".join((plain if stage == "train" else []) + triplets))
        (folder / "highOrder" / f"{stage}.txt").write_text(
            "\n".join(f"-3\t{i}\t{j}\t0\t{a}" for i, j, a in high[stage])
        )
        answers = defaultdict(set)
        for q, a in low[stage]:
            answers[((q, (0,)), (q, (2, -2)))].add(a)
        for i, j, a in high[stage]:
            answers[(((i, (-3,)), (j, (-3,))), (0,))].add(a)
        (folder / f"{stage}-answers.pkl").write_bytes(pickle.dumps(answers))


def test_released_folder_as_it_is(tmp_path):
    names = {n: f"B{n}" for n in range(6)}
    buy = [(0, 1), (0, 2), (3, 0), (3, 1)]
    links = {0: buy, 1: [(t, h) for h, t in buy], 2: [(1, 2)], 3: [(2, 1)]}
    low = {"train": [(0, 1)], "valid": [(0, 2)], "test": [(3, 4)]}
    # Reversed, as theirs: 3 links to 0 and 1.
    high = {"train": [(0, 1, 3)], "valid": [], "test": [(1, 0, 3), (0, 1, 5)]}
    released_folder(tmp_path / "r", names, links, low, high)
    for option in ({"hide_views": True}, {"basket_sizes": (2, 3)}):
        with pytest.raises(UsageError, match="leak-free"):
            made(tmp_path, tmp_path / "r", PrepareConfig(**option))
    dataset, report = made(tmp_path, tmp_path / "r")
    assert report["protocol"] == "released"
    assert "reversed" in report["notes"]["direction"]
    assert report["notes"]["released"]["pickled_triplets_equal_text"] == {"train": True, "valid": True, "test": True}
    assert report["notes"]["released"]["inverse_links_mirror_the_links"]
    ids = dataset.vocabulary.item_ids

    def triplets(stage, kind):
        q = dataset.queries(stage, kind)
        return {(tuple(ids[m] for m in q.members.list(n)), ids[a]) for n in range(len(q)) for a in q.answers.list(n)}

    assert triplets("valid", "low") == {(("B0",), "B2")}
    assert triplets("test", "low") == {(("B3",), "B4")}
    # (1, 0) and (0, 1) stay apart, and B5, which no link mentions, is no item of this catalogue.
    assert triplets("test", "high") == {(("B1", "B0"), "B3")}
    assert dataset.queries("test", "high").hardness.tolist() == [0]
    assert len(dataset.links("train")[Relation.CO_PURCHASE]) == 4
    assert len(dataset.links("valid")[Relation.CO_PURCHASE]) == 1


def test_released_refuses_pickles_with_commands(tmp_path):
    import os

    class Trap:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'trap'}",)

    folder = tmp_path / "r"
    folder.mkdir()
    (folder / "id2ent.pkl").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(InputError, match="refused"):
        made(tmp_path, folder)
    assert not (tmp_path / "trap").exists()
    assert not (tmp_path / "out").exists()


def test_format_is_detected_or_asked_for(tmp_path):
    def file(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    assert locate(file("a.json", '{"asin": "x"}'), None)[0] == "amazon"
    assert locate(file("b.csv", "source,target\n"), None)[0] == "links"
    assert locate(file("c.csv", "InvoiceNo,StockCode\n"), None)[0] == "orders"
    assert locate(file("d.csv", "milk,bread\n"), None)[0] == "orders"
    assert locate(file("e.csv", "milk,bread\n"), "links")[0] == "links"
    with pytest.raises(InputError, match="cannot tell the format"):
        locate(file("f.csv", "quantity,unit_price\n"), None)
    with pytest.raises(InputError, match="no column for order"):
        locate(file("f.csv", "item_id,colour\n"), None)
    with pytest.raises(InputError, match="no such file"):
        locate(tmp_path / "nothing", None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no known input"):
        locate(tmp_path / "empty", None)


def test_protocols_that_do_not_fit_the_source_say_so(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("source,target\na,b\n")
    for protocol in ("released", "baskets"):
        with pytest.raises(UsageError, match="needs"):
            made(tmp_path, path, PrepareConfig(protocol=protocol))
    assert not (tmp_path / "out").exists()


def test_a_table_with_unknown_names_is_not_taken_for_baskets(tmp_path):
    path = tmp_path / "bestellungen.csv"
    path.write_text("bestellnr;artikelnr;datum\n" + "".join(f"{n};A{n % 9};2024-01-01\n" for n in range(50)))
    with pytest.raises(InputError, match=r"3 columns and no name.*--columns"):
        locate(path, None)
    assert locate(path, None, {"order": "bestellnr", "item": "artikelnr"})[0] == "orders"
    assert locate(path, "orders")[0] == "orders"


def test_a_folder_with_two_order_files_asks_which(tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"orders_{year}.csv").write_text(ORDER_LINES)
    with pytest.raises(InputError, match=r"orders_2023\.csv, orders_2024\.csv"):
        locate(tmp_path, None)
    (tmp_path / "orders_2023.csv").unlink()
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "folder.csv").mkdir()
    assert locate(tmp_path, None) == ("orders", tmp_path)


def test_a_packed_table_is_read_from_its_folder(tmp_path):
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "orders.csv.gz").write_bytes(gzip.compress(ORDER_LINES.encode()))
    dataset, report = made(tmp_path, folder, PrepareConfig(orders={"min_support": 2, "min_llr": 0}))
    assert report["lines"]["read"] == len(ORDER_LINES.splitlines()) - 1
    assert len(dataset.vocabulary) == 3


def test_items_come_before_the_source_whatever_the_line_numbers(tmp_path):
    meta, items = tmp_path / "meta.jsonl", tmp_path / "items.csv"
    meta.write_text("".join(f'{{"asin": "A{n}", "title": "source {n}", "also_buy": ["A{n + 1}"]}}\n' for n in range(9)))
    items.write_text("item_id,title\n" + "".join(f"A{n},items {n}\n" for n in reversed(range(9))))
    dataset, _ = made(tmp_path, meta, items=items)
    assert dataset.descriptions["title"] == [*(f"items {n}" for n in range(9)), None]


def test_ids_are_stripped_everywhere(tmp_path):
    path = tmp_path / "meta.jsonl"
    path.write_text('{"asin": " A ", "also_buy": [" B", "", "  ", "C\\t"]}')
    dataset, report = made(tmp_path, path)
    assert dataset.vocabulary.item_ids == ("A", "B", "C")
    assert report["lines"]["filtered"] == {"empty or endless target id": 2}


def test_bad_interactions_are_counted_and_their_file_has_its_own_limit(tmp_path):
    meta, ratings = tmp_path / "meta.jsonl", tmp_path / "ratings.csv"
    meta.write_text("".join(f'{{"asin": "A{n}", "also_buy": ["A{n + 1}"]}}\n' for n in range(1000)))
    ratings.write_text("user,item,rating,time\nu,A1,five,2024-01-01\nu,A2,5,yesterday\nu,A3,5,2024-01-02\n")
    with pytest.raises(InputError, match=r"ratings\.csv: 2 of 3 lines rejected.*bad rating, 1 \(line 2\).*bad time"):
        made(tmp_path, meta, interactions=ratings)
    dataset, _ = made(tmp_path, meta, PrepareConfig(max_bad=0.7), interactions=ratings)
    assert dataset.interactions()["time"].tolist() == [1704153600]
    ratings.write_text("user,item\nu,X\n")
    with pytest.raises(InputError, match="none of the 1 interactions"):
        made(tmp_path, meta, interactions=ratings)


def test_views_after_the_training_orders_are_not_known(tmp_path):
    orders, views = tmp_path / "orders.csv", tmp_path / "views.csv"
    days = [f"2024-01-{day:02d}" for day in range(1, 11)]
    orders.write_text(
        "order_id,item_id,time\n" + "".join(f"{d},{i},{d}\n" for d in days for i in "ab") + "x,c,2024-01-01\n"
    )
    rows = [(f"{d}-{n}", i, d) for d in days for n in range(3) for i in ("ac" if d < "2024-01-08" else "bc")]
    views.write_text("session_id,item_id,time\n" + "".join(",".join(row) + "\n" for row in rows))
    config = PrepareConfig(protocol="baskets", orders={"min_support": 1, "min_llr": 0, "min_confidence": 0})
    dataset, report = made(tmp_path, orders, config, views=views)
    assert report["notes"]["views_after_the_training_orders_left_out"] > 0
    assert set(links_of(dataset, Relation.CO_VIEW)) <= {("a", "c"), ("c", "a")}


def test_an_item_only_later_orders_hold_is_no_item_of_the_catalogue(tmp_path):
    orders, views = tmp_path / "orders.csv", tmp_path / "views.csv"
    lines = [f"{n},{i},2024-01-{n:02d}\n" for n in range(1, 11) for i in (*("ab" if n % 2 else "cd"), *("z" * (n > 9)))]
    orders.write_text("order_id,item_id,time\n" + "".join(lines))
    views.write_text("session_id,item_id\n" + "".join(f"{n},{i}\n" for n in range(9) for i in "az"))
    config = PrepareConfig(protocol="baskets", orders={"min_support": 1, "min_llr": 0, "min_confidence": 0})
    dataset, report = made(tmp_path, orders, config, views=views)
    assert dataset.vocabulary.item_ids == ("a", "b", "c", "d")
    assert report["notes"]["test"]["items_not_in_training_orders"] == 1


def test_parquet_oddities(tmp_path):
    import decimal

    time = pa.array([1704067200_000000001 + n for n in range(4)], pa.timestamp("ns"))
    path = tmp_path / "orders.PARQUET"
    columns = {
        "order_id": pa.array(["1", "1", "2", "2"]).dictionary_encode(),
        "item_id": pa.array([decimal.Decimal("1" + "0" * 30 + ".50"), *map(decimal.Decimal, ("2.00", "3.00", "4.00"))]),
        "time": time,
    }
    pq.write_table(pa.table(columns), path)
    dataset, _ = made(tmp_path, path, PrepareConfig(orders={"min_support": 1, "min_llr": 0, "min_confidence": 0}))
    assert dataset.vocabulary.item_ids == ("1" + "0" * 30 + ".5", "2", "3", "4")


def test_a_parquet_column_twice_is_one_error(tmp_path):
    path = tmp_path / "links.parquet"
    pq.write_table(pa.table([pa.array(["a"]), pa.array(["b"])], names=["source", "source"]), path)
    with pytest.raises(InputError, match="same name"):
        made(tmp_path, path)


def test_one_bad_string_of_a_parquet_file_costs_its_row(tmp_path):
    path = tmp_path / "links.parquet"
    bad = pa.array([b"a", b"\xff", *([b"c"] * 150)]).cast(pa.binary()).view(pa.binary())
    strings = pa.StringArray.from_buffers(len(bad), bad.buffers()[1], bad.buffers()[2])
    pq.write_table(pa.table({"source": strings, "target": [f"t{n}" for n in range(152)]}), path)
    _, report = made(tmp_path, path)
    assert report["lines"]["rejected"] == {"wrong type": 1}


def test_a_device_is_no_input(tmp_path):
    import os

    with pytest.raises(InputError, match="neither a file nor a folder"):
        locate(tmp_path / os.devnull, None)


def test_a_json_array_is_explained(tmp_path):
    path = tmp_path / "products.json"
    path.write_text('[{"asin": "A"},\n{"asin": "B"}]')
    with pytest.raises(InputError, match="one object a line"):
        made(tmp_path, path)


LOOSE = PrepareConfig(orders={"min_support": 1, "min_llr": 0, "min_confidence": 0})


def test_columns_are_named_for_all_tables_and_one_must_have_each(tmp_path):
    orders, items = tmp_path / "orders.csv", tmp_path / "items.csv"
    orders.write_text("bon,item_id\n" + "".join(f"{n},{item}\n" for n in range(4) for item in ("ab", "cd")[n % 2]))
    items.write_text("sku,prod_label\na,Apple\nb,Bread\n")
    columns = {"order": "bon", "title": "prod_label"}
    dataset, _ = made(tmp_path, orders, LOOSE, items=items, columns=columns)
    assert dataset.descriptions["title"] == ["Apple", "Bread", None, None]
    for role in ("title", "item"):
        with pytest.raises(
            InputError, match=rf"--columns {role}=nope: no table.*orders.csv: bon, item_id; items.csv: sku"
        ):
            made(tmp_path, orders, LOOSE, items=items, columns={"order": "bon", role: "nope"})


@pytest.mark.parametrize("above", ["sep=,\n", "Order report, created 2024-05-01\n", "Orders\n\n"])
def test_a_header_below_the_first_line_is_said(tmp_path, above):
    path = tmp_path / "orders.csv"
    path.write_text(
        above + "order_id,item_id,quantity\n" + "".join(f"{n},{item},1\n" for n in range(9) for item in "ab")
    )
    with pytest.raises(InputError, match="looks like the header; remove what is above it"):
        made(tmp_path, path)


def test_a_table_with_a_line_too_long_is_not_taken_for_baskets(tmp_path):
    path = tmp_path / "orders.csv"
    path.write_text("".join(f"{n},{item},1\n" for n in range(20) for item in "ab") + "a,note,that,is,longer\n")
    with pytest.raises(InputError, match="3 columns and no name"):
        made(tmp_path, path)


def test_keep_unlinked_keeps_what_order_lines_describe(tmp_path):
    path = tmp_path / "orders.csv"
    lines = [f"{n},{item},{item.upper()}\n" for n in range(4) for item in "ab"] + ["9,z,Lonely\n", "9,y,\n"]
    path.write_text("order_id,item_id,title\n" + "".join(lines))
    rules = {"min_support": 2, "min_llr": 0, "min_confidence": 0}
    dataset, _ = made(tmp_path, path, PrepareConfig(keep_unlinked=True, orders=rules))
    assert dataset.vocabulary.item_ids == ("a", "b", "z")


def test_utf_16_and_excel_are_explained(tmp_path):
    path = tmp_path / "orders.csv"
    path.write_bytes(ORDER_LINES.encode("utf-16"))
    with pytest.raises(InputError, match="UTF-16"):
        made(tmp_path, path)
    path.write_bytes(ORDER_LINES.encode("utf-16-be"))
    with pytest.raises(InputError, match=r"needs a header|no table has a column"):
        made(tmp_path, path, format="orders", columns={"order": "order_id", "item": "item_id"})
    path.write_bytes(b"PK\x03\x04" + b"x" * 99)
    with pytest.raises(InputError, match="Excel"):
        made(tmp_path, path)


def test_a_header_that_is_not_utf_8_is_an_error_not_a_lost_row(tmp_path):
    path = tmp_path / "links.csv"
    path.write_bytes("source,target,gr\u00f6\u00dfe\na,b,1\nb,c,2\n".encode("latin-1"))
    with pytest.raises(InputError, match="line 1"):
        made(tmp_path, path)


@pytest.mark.parametrize("sign", [" ", ";", "\t", "|"])
def test_baskets_a_line_with_other_signs(tmp_path, sign):
    path = tmp_path / "retail.dat"
    baskets = [["7"], ["1", "2", "3"], ["1", "2"], ["4", "5", "6"], ["4", "5"]]
    path.write_text("".join(sign.join(basket) + "\n" for basket in baskets))
    dataset, report = made(tmp_path, path, LOOSE)
    assert report["source"]["format"] == "orders"
    assert ("1", "2") in links_of(dataset)
    assert len(dataset.vocabulary) == 6


def test_date_before_time_of_day_and_a_comma_in_numbers(tmp_path):
    path = tmp_path / "orders.csv"
    rows = ["Date;Time;Transaction;Item;Price"]
    rows += [f"{day}-01-2016;09:15:00;{day};{item};2,55" for day in range(10, 20) for item in ("ab", "cd")[day % 2]]
    path.write_text("\n".join(rows))
    config = LOOSE.model_copy(update={"protocol": "baskets"})
    _, report = made(tmp_path, path, config)
    assert report["notes"]["split"] == "temporal"
    assert report["lines"]["rejected"] == {}


def test_a_column_can_be_switched_off(tmp_path):
    path = tmp_path / "orders.csv"
    path.write_text(ORDER_LINES.replace("2024-", "no date "))
    with pytest.raises(InputError, match="bad time"):
        made(tmp_path, path, LOOSE)
    _, report = made(tmp_path, path, LOOSE, columns={"time": "-"})
    assert report["lines"]["rejected"] == {}


def test_nulls_inside_a_product_cost_nothing(tmp_path):
    path = tmp_path / "meta.jsonl"
    path.write_text(
        '{"asin": "A", "category": [null, "Toys"], "related": {"also_bought": null, "also_viewed": ["B"]}}\n'
        '{"asin": "B", "also_buy": ["A"], "categories": [null]}\n'
    )
    dataset, report = made(tmp_path, path)
    assert report["lines"]["rejected"] == {}
    assert dataset.descriptions["category"][0] == "Toys"


def test_an_empty_relation_is_a_co_purchase_and_a_boundless_weight_is_none(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("source,target,relation,weight\na,b,,1\na,c,buy,1e300\n")
    dataset, report = made(tmp_path, path, PrepareConfig(max_bad=0.5))
    assert set(links_of(dataset)) == {("a", "b")}
    assert report["lines"]["rejected"] == {"weight is not a positive number": 1}


def test_interactions_after_the_training_orders_are_not_known(tmp_path):
    orders, ratings = tmp_path / "orders.csv", tmp_path / "ratings.csv"
    lines = [f"{day},{i},2024-01-{day:02d}\n" for day in range(1, 11) for i in ("ab" if day % 2 else "cd")]
    orders.write_text("order_id,item_id,time\n" + "".join(lines))
    ratings.write_text("user,item,time\n" + "".join(f"u,a,2024-01-{day:02d}\n" for day in range(1, 11)))
    config = LOOSE.model_copy(update={"protocol": "baskets"})
    dataset, report = made(tmp_path, orders, config, interactions=ratings)
    assert report["notes"]["interactions_after_the_training_orders_left_out"] == 3
    assert len(dataset.interactions()["time"]) == 7


def test_a_headless_file_beside_one_with_a_header_is_judged_alone(tmp_path):
    folder, ratings = tmp_path / "rc", tmp_path / "ratings.csv"
    folder.mkdir()
    (folder / "item_meta.csv").write_text("item_id\tr_complement\n1\t[2, 3]\n2\t[3]\n")
    (folder / "train.csv").write_text("user_id\titem_id\ttime\n" + "".join(f"{u}\t1\t5\n" for u in range(100, 150)))
    ratings.write_text("1,u7,5.0,100\n2,u8,4.0,100\n3,u9,4.0,bad\n")
    with pytest.raises(InputError, match=r"ratings\.csv: 1 of 3 lines rejected.*bad time, 1 \(line 3\)"):
        made(tmp_path, folder, interactions=ratings)
    _, report = made(tmp_path, folder, PrepareConfig(max_bad=0.5), interactions=ratings)
    assert report["merged"]["interactions"]["of_unknown_items"] == 0
    assert report["merged"]["interactions"]["users"] == 52


def test_views_without_a_readable_time_are_rejected(tmp_path):
    orders, views = tmp_path / "orders.csv", tmp_path / "views.csv"
    orders.write_text(ORDER_LINES)
    views.write_text("session_id,item_id,time\n1,a,2024-01-01\n1,b,2024-01-01\n2,a,soon\n")
    config = LOOSE.model_copy(update={"protocol": "baskets"})
    with pytest.raises(InputError, match=r"views\.csv: 1 of 3 lines rejected.*bad time"):
        made(tmp_path, orders, config, views=views)


def test_two_files_of_one_name_cannot_be_told_apart(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.csv").write_text(ORDER_LINES)
    with pytest.raises(UsageError, match=r"called data\.csv"):
        made(tmp_path, tmp_path / "one" / "data.csv", views=tmp_path / "two" / "data.csv")


@pytest.mark.parametrize(
    "config",
    [
        {"protocol": "paper", "basket_sizes": (2, 3)},
        {"protocol": "baskets", "hide_views": True},
        {"protocol": "baskets", "keep_unlinked": True},
    ],
)
def test_options_without_use_are_refused(tmp_path, config):
    with pytest.raises(UsageError, match="--"):
        made(tmp_path, None, PrepareConfig(**config))


def test_links_without_a_header_are_told_to_have_one(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("a,b\nb,c\n")
    with pytest.raises(InputError, match="needs a header line that names source, target"):
        made(tmp_path, path, format="links")


LINES = "Order No,SKU,Category,Bought on\n" + "".join(
    f"{order},{item},Tea,2024-01-{1 + order % 28:02}\n"
    for order in range(60)
    for item in (f"a{order % 4}", f"b{order % 4}")
)


def test_it_is_said_which_columns_were_read_and_that_there_are_no_times(cli, tmp_path):
    (tmp_path / "orders.csv").write_text(LINES)
    named = ["prepare", tmp_path / "orders.csv", "--protocol", "baskets", "--columns", "order=Order No"]
    shown = cli(*named, "--out", tmp_path / "out", "--quiet").out
    assert "columns: order=Order No, item=SKU" in shown
    assert "are a random part" in shown
    named[-1] += ",time=Bought on"
    found = cli(*named, "--out", tmp_path / "timed", "--quiet", "--json").json
    assert found["columns"] == {"order": "Order No", "item": "SKU", "time": "Bought on"}
    assert "columns" not in Dataset.load(tmp_path / "timed").manifest


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ("", "no column for order"),
        ("order=Order No,category=Category", "--items"),
        ("order=Order No,rating=SKU", "only customer, item, order"),
        ("item=SKU,time=Bought on", "no column for order"),
        ("order=Order No;item=SKU", "no table has a column of that name"),
    ],
)
def test_a_column_that_is_missing_or_read_by_nothing_is_named(cli, tmp_path, columns, says):
    (tmp_path / "orders.csv").write_text(LINES)
    named = ["--columns", columns] if columns else []
    result = cli("prepare", tmp_path / "orders.csv", "--out", tmp_path / "out", "--quiet", *named)
    assert result.code in (2, 3)
    assert says in result.err, result.err
    assert len(result.err.splitlines()) == 1


def test_of_links_too(cli, tmp_path):
    pairs = [f"i{n},i{(n + step) % 40}" for n in range(40) for step in (1, 2, 3)]
    (tmp_path / "links.csv").write_text("\n".join(["von,nach", *pairs]))
    arguments = ["prepare", tmp_path / "links.csv", "--columns", "source=von,target=nach", "--out", tmp_path / "out"]
    assert cli(*arguments, "--quiet", "--json").json["columns"] == {"source": "von", "target": "nach"}


def test_what_is_sold_and_left_out_is_counted_and_said(cli, tmp_path):
    lines = [f"{n},i{item}" for n in range(60) for item in (n % 6, (n + 1) % 6)] + ["900,alone", "901,alone"]
    (tmp_path / "orders.csv").write_text("\n".join(["order_id,item_id", *lines]))
    rules = ["--min-support", "1", "--min-llr", "0"]
    shown = cli("prepare", tmp_path / "orders.csv", *rules, "--out", tmp_path / "out", "--quiet").out
    assert "1 item without a link (--keep-unlinked keeps" in shown


def test_a_manifest_of_another_programs_is_no_reason_to_refuse_a_folder(cli, tmp_path):
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "orders.csv").write_text(LINES.replace("Order No", "order"))
    (raw / "manifest.json").write_text('{"exported": "2026-11-19"}')
    result = cli("prepare", raw, "--protocol", "baskets", "--out", tmp_path / "out", "--quiet")
    assert result.code == 0, result.err


def test_a_folder_of_logirecs_own_is_no_raw_data(cli, leak_free, tmp_path):
    result = cli("prepare", leak_free.folder, "--out", tmp_path / "out", "--quiet")
    assert result.code == 3
    assert "raw files" in result.err
