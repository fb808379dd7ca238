import ast
import importlib
from pathlib import Path

import logirec

PUBLIC = [
    "Dataset",
    "Inputs",
    "LogiRecError",
    "PrepareConfig",
    "Recommender",
    "Relation",
    "Request",
    "RunOptions",
    "Scorer",
    "TrainedModel",
    "Vocabulary",
    "__version__",
    "audit",
    "evaluate",
    "parse",
    "prepare",
    "recipe",
    "train",
]


def test_the_public_names_are_these():
    assert logirec.__all__ == PUBLIC
    assert all(getattr(logirec, name) is not None for name in PUBLIC)


def test_a_type_checker_is_told_the_same_names():
    """They are loaded on first use, which a type checker cannot see."""
    tree = ast.parse(Path(logirec.__file__).read_text(encoding="utf-8"))
    (told,) = [node for node in tree.body if isinstance(node, ast.If)]
    found = {alias.name: statement.module for statement in told.body for alias in statement.names}
    assert sorted([*found, "__version__"]) == PUBLIC
    assert all(getattr(importlib.import_module(home), name) is getattr(logirec, name) for name, home in found.items())
