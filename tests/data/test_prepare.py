"""`prepare` as a whole: the same bytes, whole or nothing, and input of every bad kind."""

import gzip
import json
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from logirec.config import PrepareConfig
from logirec.data.audit import audit
from logirec.data.dataset import Dataset
from logirec.data.prepare import Inputs, prepare
from logirec.data.sources import lines
from logirec.errors import LogiRecError, ResourceError

SOUND = "".join(f'{{"asin": "A{n}", "also_buy": ["A{n + 1}", "B{n % 7}"]}}\n' for n in range(200)).encode()


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("protocol", ["leak-free", "cold-items", "paper", "baskets"])
def test_same_seed_same_bytes_other_seed_other_split(shop, tmp_path, protocol):
    inputs = (
        Inputs(shop.products) if protocol != "baskets" else Inputs(shop.orders, views=shop.views, items=shop.products)
    )

    def made(name, seed):
        sizes = (2, 3) if protocol == "leak-free" else (2,)
        prepare(
            inputs, tmp_path / name, PrepareConfig(protocol=protocol, seed=seed, basket_sizes=sizes, max_queries=100)
        )
        return files(tmp_path / name)

    first = made("first", 7)
    assert first == made("second", 7)
    assert first["queries/test-high.parquet"] != made("third", 8)["queries/test-high.parquet"]


@pytest.mark.parametrize("protocol", ["leak-free", "cold-items", "paper", "baskets"])
def test_the_order_of_the_lines_does_not_matter(shop, tmp_path, protocol):
    source = shop.orders if protocol == "baskets" else shop.products
    first, *rest = source.read_text().splitlines()
    backwards = tmp_path / source.name
    if protocol == "baskets":  # an order's own lines keep their order, which says what was chosen after what
        turned = [first, *sorted(rest, key=lambda line: -int(line.split(",")[0]))]
    else:
        turned = [*reversed(rest), first]
    backwards.write_text("\n".join(turned))
    made = []
    for name, path in (("one", source), ("two", backwards)):
        prepare(Inputs(path), tmp_path / name, PrepareConfig(protocol=protocol))
        made.append({k: v for k, v in files(tmp_path / name).items() if k != "manifest.json"})
    assert made[0] == made[1]


def test_what_is_written_is_what_the_docs_say(leak_free, baskets):
    names = {"items.parquet", "manifest.json", "rejects.jsonl"}
    names |= {f"links/{s}.parquet" for s in ("train", "valid", "test")}
    names |= {f"queries/{s}-{k}.parquet" for s in ("train", "valid", "test") for k in ("low", "high")}
    assert set(files(leak_free.folder)) == names
    assert set(files(baskets.folder)) == names | {"baskets.parquet", "interactions.parquet"}


def bad(tmp_path, name, content):
    path = tmp_path / "input" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def bad_inputs(tmp_path):
    """name -> (path, what the one-line error says)"""
    released = tmp_path / "input" / "released"
    released.mkdir(parents=True)
    (released / "id2ent.pkl").write_bytes(pickle.dumps(Trap(tmp_path / "trap")))
    packed = gzip.compress(SOUND)
    return {
        "bad UTF-8": (bad(tmp_path, "utf.jsonl", SOUND + b'{"asin": "\xff"}\n' * 50), "iconv -f cp1252"),
        "wrong types": (
            bad(tmp_path, "types.jsonl", SOUND + b'{"asin": "A", "also_buy": 3}\n' * 9),
            "wrong type: also_buy",
        ),
        "no JSON": (bad(tmp_path, "words.json", b'{"asin": "A"\n' * 3), "neither JSON nor a Python literal"),
        "truncated gz": (bad(tmp_path, "cut.json.gz", packed[:-30]), "truncated gzip"),
        "not gz": (bad(tmp_path, "not.json.gz", b"\x1f\x8bnonsense"), "gzip"),
        "gzip bomb": (bad(tmp_path, "bomb.json.gz", gzip.compress(b"{" + b" " * (100 << 20))), "bomb"),
        "empty": (bad(tmp_path, "empty.jsonl", b""), "empty"),
        "blank": (bad(tmp_path, "blank.csv", b"\n \n\n"), "empty"),
        "empty gz": (bad(tmp_path, "empty.gz", gzip.compress(b"")), "empty"),
        "only self links": (bad(tmp_path, "self.csv", b"source,target\na,a\nb,b\n"), "no link"),
        "unknown relation": (bad(tmp_path, "rel.csv", b"source,target,relation\na,b,marries\n"), "unknown relation, 1"),
        "broken parquet": (bad(tmp_path, "x.parquet", b"PAR1" + b"\0" * 50 + b"PAR1"), "Parquet"),
        "header alone": (bad(tmp_path, "head.csv", b"source,target\n"), "empty|no link"),
        "binary": (bad(tmp_path, "bin.csv", bytes(range(256)) * 40), "rejected|no line of a table"),
        "pickle": (released, "refused"),
        "missing": (tmp_path / "nowhere.json", "no such file"),
    }


@pytest.mark.parametrize(
    "name",
    [
        "bad UTF-8", "wrong types", "no JSON", "truncated gz", "not gz", "gzip bomb", "empty", "blank", "empty gz",
        "only self links", "unknown relation", "broken parquet", "header alone", "binary", "pickle", "missing",
    ],
)  # fmt: skip
def test_bad_input_is_one_line_exit_3_and_nothing_written(cli, tmp_path, name):
    path, says = bad_inputs(tmp_path)[name]
    out = tmp_path / "place" / "out"
    result = cli("prepare", path, "--out", out, "--quiet")
    assert result.code == 3, result.err
    assert result.out == ""
    assert len(result.err.strip().splitlines()) == 1
    assert any(part in result.err for part in says.split("|"))
    assert "Traceback" not in result.err
    assert not (tmp_path / "trap").exists()
    assert not out.parent.exists() or list(out.parent.iterdir()) == []


def test_a_line_of_100_mb_is_a_counted_reject(tmp_path):
    path = bad(
        tmp_path,
        "long.jsonl",
        SOUND + b'{"asin": "' + b"x" * (100 << 20) + b'"}\n' + b'{"asin": "Z", "also_buy": ["A1"]}',
    )
    report = prepare(Inputs(path), tmp_path / "out", PrepareConfig())
    assert report["lines"]["rejected"] == {"line too long": 1}
    rejects = json.loads((tmp_path / "out" / "rejects.jsonl").read_text())
    assert rejects["first_lines"] == [201]
    assert "Z" in Dataset.load(tmp_path / "out").vocabulary


@pytest.mark.parametrize(("broken", "code"), [(2, 0), (3, 3)])
def test_one_percent_may_be_rejected_and_no_more(cli, tmp_path, broken, code):
    path = bad(tmp_path, "meta.jsonl", SOUND[: -len(SOUND.splitlines()[-1]) - 1] + b"nonsense\n" * broken)
    lines_read = 199 + broken
    assert (broken / lines_read <= 0.01) == (code == 0)
    assert cli("prepare", path, "--out", tmp_path / "out", "--quiet").code == code
    assert (tmp_path / "out").exists() == (code == 0)
    assert cli("prepare", path, "--out", tmp_path / "more", "--max-bad", "0.02", "--quiet").code == 0


def dataset_or_one_line(inputs, out, config):
    try:
        report = prepare(inputs, out, config, force=True)
    except LogiRecError as error:
        message = str(error)
    else:
        assert len(Dataset.load(out).vocabulary) == report["items"]
        message = "fine"
    assert message.strip()
    assert "\n" not in message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(b"\x00\r\x00", ".csv")
@given(st.binary(max_size=300), st.sampled_from([".csv", ".tsv", ".json", ".jsonl", ".parquet", ".json.gz"]))
def test_any_bytes_give_a_dataset_or_one_line(tmp_path, content, ending):
    path = tmp_path / f"input{ending}"
    path.write_bytes(content)
    dataset_or_one_line(Inputs(path), tmp_path / "out", PrepareConfig(max_bad=1))
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".out")]


TEXT = st.text(max_size=12)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
PRODUCT = st.fixed_dictionaries(
    {"asin": st.one_of(TEXT, VALUE)},
    optional=dict.fromkeys(("title", "brand", "category", "categories", "also_buy", "also_view", "related"), VALUE)
    | {"also_buy": st.lists(TEXT, max_size=4)},
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(PRODUCT, min_size=1, max_size=6), st.booleans())
def test_any_metadata_gives_a_dataset_or_one_line(tmp_path, products, literal):
    path = tmp_path / "meta.json"
    spell = repr if literal else json.dumps
    path.write_bytes(b"".join(spell(p).encode("utf-8", "surrogatepass") + b"\n" for p in products))
    dataset_or_one_line(Inputs(path, format="amazon"), tmp_path / "out", PrepareConfig(max_bad=1))


CELL = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(CELL, min_size=1, max_size=5), max_size=12),
    st.sampled_from(["leak-free", "cold-items", "baskets", "paper"]),
)
def test_any_order_lines_give_a_dataset_or_one_line(tmp_path, rows, protocol):
    path = tmp_path / "orders.csv"
    text = "order_id,item_id,time,quantity,price\n1,a,,1,1\n1,b,,1,1\n2,c,,1,1\n2,d,,1,1\n"
    path.write_bytes((text + "".join(",".join(row) + "\n" for row in rows)).encode())
    rules = {"min_support": 1, "min_llr": 0, "min_confidence": 0}
    config = PrepareConfig(max_bad=1, orders=rules, protocol=protocol)
    dataset_or_one_line(Inputs(path, format="orders"), tmp_path / "out", config)


def test_gzip_without_isal(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "_open_gzip", gzip.open)
    path = bad(tmp_path, "meta.json.gz", gzip.compress(SOUND))
    assert prepare(Inputs(path), tmp_path / "out", PrepareConfig())["lines"]["read"] == 200


def test_too_little_memory_is_one_line_exit_5(shop, tmp_path, monkeypatch):
    import duckdb

    from logirec.data.store import Store

    def refuse(self, sql, path, schema):
        raise duckdb.OutOfMemoryException("no room")

    monkeypatch.setattr(Store, "_stream", refuse)
    with pytest.raises(ResourceError, match="--memory-mb") as error:
        prepare(Inputs(shop.products), tmp_path / "out", PrepareConfig())
    assert error.value.exit_code == 5
    assert list(tmp_path.iterdir()) == []


def test_more_memory_is_taken_when_a_join_needs_it(shop, tmp_path, monkeypatch):
    import duckdb

    from logirec.data.store import Store

    stream, limits = Store._stream, []

    def refuse_twice(self, sql, path, schema):
        limits.append(self._limit)
        if len(limits) < 3:
            raise duckdb.OutOfMemoryException("no room")
        return stream(self, sql, path, schema)

    monkeypatch.setattr(Store, "_stream", refuse_twice)
    prepare(Inputs(shop.products), tmp_path / "out", PrepareConfig())
    assert limits[0] < limits[1] < limits[2] <= 1024


def test_a_corrupt_dataset_is_refused(cli, leak_free, tmp_path):
    import shutil

    shutil.copytree(leak_free.folder, tmp_path / "copy")
    path = tmp_path / "copy" / "queries" / "test-low.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    result = cli("audit", tmp_path / "copy")
    assert result.code == 4
    assert "test-low.parquet is not what was written" in result.err


@pytest.mark.slow
def test_a_large_shop_is_sampled_and_clean(tmp_path):
    config = PrepareConfig(basket_sizes=(2, 3), max_queries=20_000)
    report = prepare(Inputs(demo_items=200_000), tmp_path / "out", config)
    assert report["items"] == 200_000
    for stage in ("valid", "test"):
        assert report["notes"][f"{stage}-low"]["listed"] == 20_000
        assert report["notes"][f"{stage}-high"]["size 2"]["sampled"]
        assert report["notes"][f"{stage}-high"]["size 3"]["listed"] > 1_000
    assert audit(Dataset.load(tmp_path / "out")).verdict == "clean"
