"""LogiRec: a basket of products in, the products that complete it out."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Loaded on first use, so that `logirec --help` waits for nothing.
_HOMES = {
    "Dataset": "logirec.data.dataset",
    "Recommender": "logirec.recommender.recommender",
    "Relation": "logirec.relation",
    "Scorer": "logirec.index.scorer",
    "TrainedModel": "logirec.model.artifact",
    "Vocabulary": "logirec.vocabulary",
    "audit": "logirec.data.audit",
    "evaluate": "logirec.evaluation.evaluate",
    "prepare": "logirec.data.prepare",
    "recipe": "logirec.config",
    "train": "logirec.fit",
}

__all__ = [
    "Dataset",
    "Recommender",
    "Relation",
    "Scorer",
    "TrainedModel",
    "Vocabulary",
    "__version__",
    "audit",
    "evaluate",
    "prepare",
    "recipe",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'logirec' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
