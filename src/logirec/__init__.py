"""LogiRec: a basket of products in, the products that complete it out."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Loaded on first use, so that `logirec --help` waits for nothing.
_HOMES = {
    "Dataset": "logirec.data.dataset",
    "Relation": "logirec.relation",
    "Vocabulary": "logirec.vocabulary",
    "audit": "logirec.data.audit",
    "prepare": "logirec.data.prepare",
}

__all__ = ["Dataset", "Relation", "Vocabulary", "__version__", "audit", "prepare"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'logirec' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
