import json
import re
import socket
import subprocess
import sys

import pytest


def test_help_is_light():
    """--help must not wait for the heavy libraries."""
    code = "import sys; sys.argv = ['logirec', 'prepare', '--help']\n"
    code += "import logirec.cli.main as m\ntry: m.main()\nexcept SystemExit as e: assert not e.code\n"
    code += "heavy = {'torch', 'duckdb', 'pyarrow', 'numpy', 'scipy'} & set(sys.modules)\nassert not heavy, heavy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--basket-sizes" in done.stdout


def test_every_option_has_help(cli):
    for verb in ("prepare", "audit", "demo"):
        options = re.findall(r"^  (--\S+)(?: [A-Z]+)?\s+(.*)$", cli(verb, "--help").out, flags=re.MULTILINE)
        assert options
        assert all(len(text) > 10 for _, text in options), options
    assert "Log-likelihood ratio" in cli("prepare", "--help").out


def test_json_is_all_that_stdout_gets(cli, shop, tmp_path):
    result = cli("prepare", shop.products, "--out", tmp_path / "out", "--json")
    assert result.code == 0
    report = result.json
    assert report["items"] == shop.shop.items
    assert {"directed", "undirected", "train", "valid", "test"} == set(report["links"]["co_purchase"])
    assert "reading" in result.err
    audit = cli("audit", tmp_path / "out", "--json").json
    assert audit["verdict"] == "clean"


def test_tables_for_people(cli, shop, tmp_path):
    result = cli("prepare", shop.products, "--out", tmp_path / "out", "--quiet")
    assert "co_purchase" in result.out
    assert result.err == ""
    result = cli("audit", tmp_path / "out")
    assert "verdict: clean" in result.out


def test_without_source_the_demo_shop(cli, tmp_path):
    result = cli("prepare", "--out", tmp_path / "out", "--demo-items", 200, "--json", "--quiet")
    assert result.json["source"] == {"format": "demo", "items": 200}
    orders = cli("prepare", "--out", tmp_path / "o", "--demo-items", 200, "--protocol", "baskets", "--json", "--quiet")
    assert orders.json["links"]["co_view"]["directed"] > 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--protocol", "guess"], "leak-free"),
        (["--format", "xml"], "amazon"),
        (["--basket-sizes", "2,9"], "basket_sizes"),
        (["--basket-sizes", "two"], "--basket-sizes"),
        (["--seed", "-1"], "seed"),
        (["--columns", "colour=red"], "--columns"),
        (["--max-bad", "2"], "max_bad"),
        (["--demo-items", "5"], "demo shop"),
        (["--min-llr", "inf"], "min_llr"),
        (["--min-support", "1" + "0" * 50], "min_support"),
        (["--seed", "9" * 30], "seed"),
        (["--protocol", "released"], "released"),
        (["--items", "items.csv"], "SOURCE"),
        (["--columns", "item=sku"], "SOURCE"),
        (["--format", "orders"], "SOURCE"),
        (["--demo-items", "0"], "demo shop"),
        (["--min-support", "9"], "--min-support: for order lines; --protocol baskets"),
        (["--nonsense"], "nonsense"),
    ],
)
def test_wrong_usage_is_exit_2(cli, tmp_path, arguments, says):
    result = cli("prepare", "--out", tmp_path / "out", *arguments)
    assert result.code == 2
    assert says in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "out").exists()


def test_an_option_without_a_use_for_it_is_refused(cli, shop, tmp_path):
    result = cli("prepare", shop.products, "--out", tmp_path / "out", "--demo-items", 500)
    assert result.code == 2
    assert "SOURCE" in result.err
    result = cli("prepare", shop.products, "--out", tmp_path / "out", "--top-links", 5)
    assert result.code == 2
    assert "order lines" in result.err


@pytest.mark.parametrize("name", ["what?", "\udcff"])
def test_a_place_that_cannot_be_worked_in_is_refused(cli, tmp_path, name):
    result = cli("prepare", "--out", tmp_path / name / "out", "--demo-items", 200, "--quiet")
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert "choose another" in result.err
    assert not list(tmp_path.iterdir())


def test_all_wrong_settings_at_once(cli, tmp_path):
    result = cli("prepare", "--out", tmp_path / "out", "--max-bad", "2", "--top-links", "0")
    assert "max_bad" in result.err
    assert "top_links" in result.err


def test_an_existing_dataset_is_kept_without_force(cli, leak_free, tmp_path):
    result = cli("prepare", "--out", leak_free.folder)
    assert result.code == 2
    assert "--force" in result.err


def test_a_traceback_only_with_debug(cli, tmp_path):
    assert "Traceback" not in cli("audit", tmp_path / "nothing").err
    result = cli("audit", tmp_path / "nothing", "--debug")
    assert "Traceback" in result.err
    assert result.code == 4


def test_interrupt_is_exit_130(cli, monkeypatch, tmp_path):
    import logirec.data.prepare as module

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "build_catalog", interrupted)
    result = cli("prepare", "--out", tmp_path / "out", "--demo-items", 200)
    assert result.code == 130
    assert list(tmp_path.iterdir()) == []


def test_demo_trains_compares_recommends_and_serves(cli, tmp_path, monkeypatch):
    result = cli("demo", "--out", tmp_path / "demo", "--items", 200, "--quiet")
    assert result.code == 0
    assert "Espresso Machine" in result.out
    assert "verdict: clean" in result.out
    assert {p.name for p in (tmp_path / "demo").iterdir()} == {
        "DEMO.txt", "products.jsonl", "orders.csv", "views.csv", "dataset", "model", "model.training",
    }  # fmt: skip
    for name in (
        "popularity",
        "looking up the links",
        "LogiRec",
        "goes well with it",
        "the model lies in",
        "./run serve",
    ):
        assert name in result.out
    served = []
    monkeypatch.setattr("os.execv", lambda _, arguments: served.append(arguments[1:]))
    again = cli("demo", "--out", tmp_path / "demo", "--items", 200, "--quiet", "--serve", "--port", 0)
    assert again.code == 0
    assert served == [["-m", "logirec", "serve", str(tmp_path / "demo" / "model"), "--port", "0"]]
    assert cli("demo", "--out", tmp_path / "demo", "--serve", "--files-only").code == 2


def test_a_port_that_is_taken_is_known_before_training(cli, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = cli("demo", "--out", tmp_path / "demo", "--serve", "--port", taken.getsockname()[1])
    assert result.code == 2
    assert "in use" in result.err
    assert not (tmp_path / "demo").exists()


def test_demo_overwrites_nothing_of_yours(cli, tmp_path):
    (tmp_path / "orders.csv").write_text("mine")
    result = cli("demo", "--out", tmp_path, "--items", 200, "--quiet")
    assert result.code == 2
    assert (tmp_path / "orders.csv").read_text() == "mine"


def test_version(cli):
    import logirec

    assert cli("--version").out.strip() == f"logirec {logirec.__version__}"


def test_the_command_itself(tmp_path):
    command = [
        sys.executable,
        "-m",
        "logirec",
        "prepare",
        "--out",
        str(tmp_path / "out"),
        "--demo-items",
        "200",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert json.loads(done.stdout)["items"] == 200
