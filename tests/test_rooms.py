"""Imports go one way. This reads them and fails when one does not."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import logirec

ROOT = Path(logirec.__file__).parent

# room -> our own rooms that it must not know
TOP = {"recommender", "service", "cli", "reports"}
FORBIDDEN = {
    "logic": TOP | {"data", "model", "training", "evaluation", "baselines", "evidence", "index"},
    "data": TOP | {"logic", "model", "training", "evaluation", "baselines", "evidence", "index"},
    "model": TOP | {"data", "training", "evaluation", "baselines", "evidence", "index"},
    "training": TOP | {"index", "evaluation", "baselines", "evidence"},
    "evaluation": TOP | {"model", "training", "baselines", "evidence", "compare", "index"},
    "baselines": TOP | {"training", "model", "evaluation", "evidence", "compare"},
    "evidence": TOP | {"training", "compare", "contenders", "fit"},
    "index": TOP | {"data", "training", "baselines", "evidence"},
    "bench": {"service", "cli", "reports"},
    "service": {"training", "data", "baselines", "evidence", "cli"},
    "recommender": {"training", "data", "evaluation", "baselines", "evidence", "reports", "service", "cli"},
    "shell": {"training", "data", "evidence", "service", "cli"},
    "contenders": {"cli", "service", "reports", "compare"},
    "compare": {"cli", "service", "reports"},
    "reports": {"cli", "service"},
}
# A library is imported in its rooms only; a machine with a GPU often has no more than torch, numpy and scipy.
LIBRARY_ROOMS = {
    "torch": {
        "bench",
        "compare",
        "fit",
        "lessons",
        "logic",
        "model",
        "training",
        "evaluation",
        "baselines",
        "evidence",
        "index",
        "recommender",
    },
    "duckdb": {"data"},
    "pyarrow": {"data"},
    "msgspec": {"data", "service"},
    "prometheus_client": {"service"},
    "isal": {"data"},
    "fastapi": {"service"},
    "uvicorn": {"service"},
    "faiss": {"index"},
    "matplotlib": {"reports"},
    "implicit": {"baselines"},
    "typer": {"cli"},
}
# What training and evaluation take from the data room must import without DuckDB and Arrow.
LIGHT = ("graph", "query_sets")


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


FILES = sorted(ROOT.rglob("*.py"))


def wrong_imports(room: str, names: set[str]) -> set[str]:
    ours = {name.split(".")[1] for name in names if name.startswith("logirec.")}
    libraries = {library for library in LIBRARY_ROOMS for name in names if f"{name}.".startswith(f"{library}.")}
    return ours & FORBIDDEN.get(room, set()) | {library for library in libraries if room not in LIBRARY_ROOMS[library]}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path):
    assert not wrong_imports(room(path), imports(path))


@pytest.mark.parametrize("name", LIGHT)
def test_what_training_takes_from_data_is_light(name):
    todo, seen = [ROOT / "data" / f"{name}.py"], set()
    while todo:
        path = todo.pop()
        seen.add(path)
        for module in imports(path):
            assert module.split(".")[0] not in ("duckdb", "pyarrow", "msgspec", "torch"), (
                f"{path.name} imports {module}"
            )
            beside = ROOT.parent / Path(*module.split(".")).with_suffix(".py")
            if beside.exists() and beside not in seen:
                todo.append(beside)


def test_training_and_ranking_import_on_a_bare_gpu_machine():
    """Without what reads raw files, draws or serves."""
    absent = ("pyarrow", "duckdb", "msgspec", "isal", "matplotlib", "tensorboard", "fastapi", "faiss")
    rooms = ("logic", "model", "training", "evaluation")
    modules = [
        ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        for name in rooms
        for path in sorted((ROOT / name).glob("*.py"))
    ]
    block = f"import sys; sys.modules.update(dict.fromkeys({absent!r}))"
    load = f"import importlib; [importlib.import_module(name) for name in {modules!r}]"
    subprocess.run([sys.executable, "-c", f"{block}; {load}"], check=True)


def test_rule_catches_a_wrong_import(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from logirec.service import app\nimport torch.nn\n")
    assert wrong_imports("data", imports(wrong)) == {"service", "torch"}
    assert wrong_imports("index", imports(wrong)) == {"service"}
    assert wrong_imports("cli", imports(wrong)) == {"torch"}
