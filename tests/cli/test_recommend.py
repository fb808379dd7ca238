"""`logirec recommend`, as a user types it."""

import os
import subprocess
import sys

import pytest

from logirec.model.artifact import ITEMS, TrainedModel
from logirec.model.catalogue import Search
from logirec.recommender.answers import Request
from logirec.recommender.recommender import Recommender
from logirec.shell import Shell


@pytest.fixture
def item_ids(trained_folder):
    return TrainedModel.load(trained_folder).vocabulary.item_ids


def test_json_has_the_promised_fields(cli, trained_folder, item_ids):
    result = cli("recommend", trained_folder, "--basket", item_ids[0], "--basket", item_ids[1], "--top-k", 4, "--json")
    assert result.code == 0
    assert result.err == ""
    assert len(result.json["recommendations"]) == 4
    for field in ("item_id", "title", "score", "rank", "confidence", "because"):
        assert field in result.json["recommendations"][0]


def test_a_table_says_what_how_sure_and_why(cli, trained_folder, item_ids):
    result = cli("recommend", trained_folder, "--basket", item_ids[0], "--basket", "nonsense")
    assert result.code == 0
    assert "%" in result.out
    assert "not in the catalogue, left out: nonsense" in result.out


def test_a_query(cli, trained_folder, item_ids):
    query = f"complement({item_ids[0]}) | complement({item_ids[1]})"
    result = cli("recommend", trained_folder, "--query", query, "--json")
    assert result.json["query"] == query
    narrowed = cli(
        *("recommend", trained_folder, "--query", query, "--json", "--exclude"),
        *(result.json["recommendations"][0]["item_id"], "--substitutes"),
    )
    assert narrowed.json["recommendations"][0] != result.json["recommendations"][0]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "--basket"),
        (["--basket", "nonsense"], 3, "not in the catalogue"),
        (["--query", "complement("], 3, "at character 12"),
        (["--basket", "x", "--top-k", "0"], 2, "top-k"),
        (["--interactive", "--json"], 2, "--interactive"),
        (["--basket", "P000000", "--category", "no such category"], 3, "no item has one of these categories"),
    ],
)
def test_bad_input_is_one_line(cli, trained_folder, arguments, code, words):
    result = cli("recommend", trained_folder, *arguments)
    assert result.code == code
    assert words in result.err
    assert result.out == ""


def test_no_model(cli, tmp_path):
    assert cli("recommend", tmp_path, "--basket", "x").code == 4


@pytest.fixture
def shell(trained_folder):
    search = Search(trained_folder / ITEMS)
    yield Shell(Recommender.load(trained_folder), search, Request(top_k=3))
    search.close()


def test_a_basket_is_filled_and_emptied_line_by_line(shell, capsys):
    one, other = (shell.recommender.trained.catalogue.item(row) for row in (0, 7))
    shell.do(one.item_id)
    assert one.title in capsys.readouterr().out
    (completed,) = [text for text in shell.complete(other.title) if other.item_id in text][:1]
    shell.do(completed)
    assert list(shell.basket) == [one.item_id, other.item_id]
    assert "because of" in capsys.readouterr().out
    shell.do(f"drop {completed}")
    assert list(shell.basket) == [one.item_id]
    capsys.readouterr()
    shell.do(f"query complement({other.item_id}")
    assert "where ) should be" in capsys.readouterr().out
    shell.do(f"query complement({other.item_id})")
    assert "goes well" in capsys.readouterr().out
    shell.do("clear")
    assert shell.basket == {}


def test_what_is_dropped_is_in_the_basket(shell, capsys):
    one, other = (shell.recommender.trained.catalogue.item(row) for row in (0, 7))
    for item in (one, other):
        shell.do(item.item_id)
    capsys.readouterr()
    shell.do("drop nothing of that name")
    assert "not in the basket" in capsys.readouterr().out
    shell.do("drop p0")  # both have it
    assert "which of" in capsys.readouterr().out
    shell.do(f"drop {one.title}")
    assert list(shell.basket) == [other.item_id]
    shell.do("help")
    assert "drop ITEM" in capsys.readouterr().out


def test_what_has_the_name_that_is_dropped_comes_before_what_has_it_in_its_name(shell):
    shell.basket = {"a": "Tea [a]", "b": "Tea pot [b]"}
    shell._changed = lambda: None
    shell.do("drop Tea")
    assert list(shell.basket) == ["b"]


def test_what_is_unclear_is_asked_back(shell, capsys):
    shell.do("zzzzqqq")
    assert "nothing like it" in capsys.readouterr().out
    shell.do("aurora")
    assert "which of" in capsys.readouterr().out
    shell.do("")
    assert "Tab completes" in capsys.readouterr().out
    assert shell.basket == {}
    assert shell.complete("  ") == []


def test_lines_are_read_until_the_end(cli, trained_folder, item_ids, monkeypatch):
    lines = iter([item_ids[0]])

    def read(prompt):
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", read)
    result = cli("recommend", trained_folder, "--interactive")
    assert result.code == 0
    assert "goes well" in result.out
    lines = iter(["quit", "not read any more"])
    assert "drop ITEM" in cli("recommend", trained_folder, "--interactive").out
    assert list(lines) == ["not read any more"]
    lines = iter([item_ids[0]])
    narrowed = cli("recommend", trained_folder, "--interactive", "--category", "no such category")
    assert narrowed.code == 0
    assert "no item has one of these categories" in narrowed.out
    assert cli("recommend", trained_folder, "--interactive", "--approximate").code == 2


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_id_that_the_terminal_cannot_write_is_no_bug(trained_folder, item_ids, form):
    command = [sys.executable, "-m", "logirec", "recommend", str(trained_folder), "--basket", item_ids[0]]
    strict = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    found = subprocess.run([*command, "--basket", "\udcff", *form], capture_output=True, env=strict, check=False)
    assert found.returncode == 0, found.stderr
    assert b"udcff" in found.stdout


def test_whoever_has_read_enough_is_no_bug(trained_folder, item_ids):
    for form in ([], ["--json"]):
        command = [sys.executable, "-m", "logirec", "recommend", str(trained_folder), "--basket", item_ids[0]]
        asked = subprocess.Popen([*command, "--top-k", "400", *form], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        asked.stdout.close()  # as `| head` does
        assert asked.stderr.read() == b""
        asked.stderr.close()
        assert asked.wait() == 0
