"""Baskets in, scores of all items out: what evaluation ranks with."""

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from logirec.config import MAX_BASKET
from logirec.errors import InputError
from logirec.index.exact import ExactIndex
from logirec.model.evidence import Evidence
from logirec.model.logirec import Asked, LogiRec, Shape


class Baskets(Protocol):
    """Lists of rows, one after the other."""

    @property
    def values(self) -> np.ndarray: ...

    @property
    def lengths(self) -> np.ndarray: ...


class Scorer:
    """Ranks through the index that serves: a batch of baskets costs one pass of the network and one matrix product."""

    def __init__(self, model: LogiRec, evidence: Evidence | None = None) -> None:
        """`evidence`: other than the model's own."""
        self.model, self.index = model, ExactIndex(model, coarse=False)
        self.evidence = evidence or model.evidence

    @torch.no_grad()
    def scores(self, baskets: Baskets) -> Tensor:
        """(B, N). One item asks the low query, several ask the high one; order and repeats do not matter."""
        members, lengths = _sets(baskets.values, baskets.lengths)
        device = self.index.weights.device
        result = torch.empty(len(lengths), self.model.items, dtype=self.index.weights.dtype, device=device)
        for shape, asked in ((Shape.LOW, lengths == 1), (Shape.HIGH, lengths > 1)):
            if not asked.any():
                continue
            size = int(lengths[asked].max())
            rows = torch.from_numpy(members[asked, :size]).to(device)
            present = torch.from_numpy(np.arange(size) < lengths[asked, None]).to(device)
            (query,) = self.model.ask([Asked(shape, rows, present)])
            unlike = present & (shape == Shape.LOW)  # it asks for no substitutes
            support = None if self.evidence is None else self.evidence.of(rows, present, unlike)
            scores = self.index.scores(query, shape.relation, support)
            if asked.all():
                return scores
            result[torch.from_numpy(np.flatnonzero(asked)).to(device)] = scores
        return result


def _sets(values: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Baskets as sorted rows without repeats (B, M), filled up with zeros, and their sizes."""
    owners = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((values, owners))
    owners, values = owners[order], values[order]
    new = np.ones(len(values), dtype=bool)
    new[1:] = (owners[1:] != owners[:-1]) | (values[1:] != values[:-1])
    owners, values = owners[new], values[new]
    sizes = np.bincount(owners, minlength=len(lengths))
    if not sizes.all() or sizes.max(initial=0) > MAX_BASKET:
        raise InputError(f"a basket holds 1 to {MAX_BASKET} items")
    starts = np.cumsum(sizes) - sizes
    members = np.zeros((len(lengths), int(sizes.max(initial=1))), dtype=np.int64)
    members[owners, np.arange(len(values)) - starts[owners]] = values
    return members, sizes
