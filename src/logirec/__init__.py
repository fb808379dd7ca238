"""LogiRec: a basket of products in, the products that complete it out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logirec.config import PrepareConfig, recipe
    from logirec.data.audit import audit
    from logirec.data.dataset import Dataset
    from logirec.data.prepare import Inputs, prepare
    from logirec.errors import LogiRecError
    from logirec.evaluation.evaluate import evaluate
    from logirec.fit import RunOptions, train
    from logirec.index.scorer import Scorer
    from logirec.model.artifact import TrainedModel
    from logirec.query import parse
    from logirec.recommender.answers import Request
    from logirec.recommender.recommender import Recommender
    from logirec.relation import Relation
    from logirec.vocabulary import Vocabulary

__version__ = "0.1.0"

# Loaded on first use, so that `logirec --help` waits for nothing.
_HOMES = {
    "Dataset": "logirec.data.dataset",
    "Inputs": "logirec.data.prepare",
    "LogiRecError": "logirec.errors",
    "PrepareConfig": "logirec.config",
    "Recommender": "logirec.recommender.recommender",
    "Relation": "logirec.relation",
    "Request": "logirec.recommender.answers",
    "RunOptions": "logirec.fit",
    "Scorer": "logirec.index.scorer",
    "TrainedModel": "logirec.model.artifact",
    "Vocabulary": "logirec.vocabulary",
    "audit": "logirec.data.audit",
    "evaluate": "logirec.evaluation.evaluate",
    "parse": "logirec.query",
    "prepare": "logirec.data.prepare",
    "recipe": "logirec.config",
    "train": "logirec.fit",
}

__all__ = [
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


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'logirec' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
