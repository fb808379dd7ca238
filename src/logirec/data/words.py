"""Descriptions as bags of words: of the title, the brand and the category. Rare words count more than common ones.

A customer can be a word of all that is in their history: what the same few people chose is alike.
"""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from logirec.data.dataset import Dataset
from logirec.data.histories import histories


def bags(dataset: Dataset, customers: bool = False) -> Any:
    """(N, words) sparse, rows of length 1: the product of two is how alike the items are described."""
    found = _named(dataset)
    if customers and (interactions := dataset.interactions()) is not None:
        found = sparse.hstack([found, histories(interactions, dataset.items).T], format="csr")
    counts = np.bincount(found.indices, minlength=found.shape[1])
    rarity = np.log(dataset.items / np.maximum(counts, 1))
    found = (found @ sparse.diags_array(rarity.astype(np.float32))).tocsr()
    found.eliminate_zeros()  # what describes every item
    lengths = np.sqrt(found.power(2).sum(axis=1))
    return (sparse.diags_array(1 / np.maximum(lengths, 1e-30)) @ found).astype(np.float32).tocsr()


def _named(dataset: Dataset) -> Any:
    """(N, words) sparse: 1 where a word describes an item."""
    columns: dict[str, int] = {}
    starts, words = [0], []
    for texts in zip(*(dataset.descriptions[name] for name in ("title", "brand", "category")), strict=True):
        words += [columns.setdefault(word, len(columns)) for word in _words(texts)]
        starts.append(len(words))
    return sparse.csr_array(
        (np.ones(len(words), np.float32), np.array(words, dtype=np.int64), np.array(starts)),
        (dataset.items, max(1, len(columns))),
    )


def _words(texts: tuple[str | None, str | None, str | None]) -> Iterable[str]:
    """Each once. A brand and a category are words of their own, also where they are numbers."""
    title, brand, category = texts
    found = dict.fromkeys(re.findall(r"\w+", (title or "").lower()))
    found |= dict.fromkeys(f"brand {word}" for word in [brand] if word)
    path = [part.strip() for part in (category or "").split(">")]
    found |= dict.fromkeys(f"category {part}" for part in path if part)
    return found
