"""What every baseline is, and what they share.

A basket's score is the sum over its members unless a model has better.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, Self

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn.functional import embedding_bag

from logirec.data.dataset import Dataset
from logirec.data.graph import matrix
from logirec.data.histories import histories
from logirec.data.query_sets import Ragged, rectangle
from logirec.errors import InputError
from logirec.relation import Relation


class Baseline(Protocol):
    """Settings go into the constructor. Higher scores are better; they need not be probabilities."""

    def fit(self, dataset: Dataset) -> Self: ...

    def scores(self, baskets: Ragged) -> Tensor: ...  # (B, N)


def check(model: Baseline, items: int) -> None:
    """What a new baseline gets wrong, in words: a bug would show somewhere in the ranking."""
    if not hasattr(model, "scores"):
        raise InputError(f"fit() gave {type(model).__name__}, where the fitted model was to be returned")
    some = rectangle(np.arange(min(2, items))[:, None])
    found: Any = model.scores(some)
    wanted = f"scores() must be a torch tensor of floats, baskets by items: {(len(some), items)}"
    if not isinstance(found, Tensor):
        raise InputError(f"{wanted}; found {type(found).__name__}")
    if tuple(found.shape) != (len(some), items) or not found.is_floating_point():
        raise InputError(f"{wanted}; found {tuple(found.shape)} of {found.dtype}")


class Unsuited(InputError):
    """The dataset has nothing that this baseline could learn from."""


class NeedsInteractions(Unsuited):
    def __init__(self) -> None:
        super().__init__("needs user interactions, which this dataset is without; `prepare --interactions FILE`")


def members(baskets: Ragged, items: int) -> Any:
    """(B, N) sparse: 1 where an item is in the basket, however often it is named."""
    ones = np.ones(len(baskets.values), dtype=np.float32)
    shape = (len(baskets), items)
    table = sparse.csr_array((ones, baskets.values, baskets.offsets), shape=shape, copy=True)  # it is sorted in place
    table.sum_duplicates()
    table.data[:] = 1
    return table


def summed(vectors: Tensor, baskets: Ragged) -> Tensor:
    """(B, D): the sum of the vectors of each basket's members."""
    table = members(baskets, len(vectors))
    rows, starts = (torch.from_numpy(a.astype(np.int64)).to(vectors.device) for a in (table.indices, table.indptr))
    return embedding_bag(rows, vectors, starts, mode="sum", include_last_offset=True)


def interactions_of(dataset: Dataset) -> dict[str, np.ndarray]:
    found = dataset.interactions()
    if found is None or not len(found["user"]):
        raise NeedsInteractions
    return found


def user_items(dataset: Dataset) -> Any:
    """(users, N) sparse: 1 where a user had to do with an item."""
    return histories(interactions_of(dataset), dataset.items)


def members_last(scores: Callable[[Ragged], Tensor]) -> Callable[[Ragged], Tensor]:
    """What is in the basket is not recommended; it matters to a raw ranking."""

    def without(baskets: Ragged) -> Tensor:
        table = scores(baskets).clone()
        places = (torch.from_numpy(a.astype(np.int64)).to(table.device) for a in (baskets.owners, baskets.values))
        table[tuple(places)] = -torch.inf
        return table

    return without


class ItemVectors:
    """The score of two items is the product of their vectors: the same both ways."""

    pairwise = True  # a property of the pair: see evaluation.asymmetry

    def __init__(self, vectors: Tensor) -> None:
        self.vectors = vectors  # (N, D)

    def scores(self, baskets: Ragged) -> Tensor:
        return summed(self.vectors, baskets) @ self.vectors.T


Ask = Callable[[Any], Tensor]  # baskets, (B, N) sparse -> scores (B, N)


class LinkBaseline(ABC):
    """Learns from links or orders. For one item alone, what is viewed with it (a substitute) comes last.

    Where the dataset's sets run against their links (the released data), sets are learnt from the links reversed.
    """

    def fit(self, dataset: Dataset) -> Self:
        self.items = dataset.items
        self.views = matrix(dataset.graph().links[Relation.CO_VIEW], dataset.items)
        self.low = self.learn(dataset, reverse=False)
        self.high = self.learn(dataset, reverse=True) if dataset.sets_run_backwards else self.low
        return self

    @abstractmethod
    def learn(self, dataset: Dataset, reverse: bool) -> Ask: ...

    def scores(self, baskets: Ragged) -> Tensor:
        asked = members(baskets, self.items)
        single = np.diff(asked.indptr) == 1
        if self.low is self.high or single.all():
            table = self.low(asked)
        else:
            table = self.high(asked)
            if single.any():
                table[torch.from_numpy(np.flatnonzero(single)).to(table.device)] = self.low(asked[single])
        owners, viewed = (asked * single[:, None].astype(np.float32) @ self.views).nonzero()
        table[torch.from_numpy(owners).long(), torch.from_numpy(viewed).long()] = -torch.inf
        return table
