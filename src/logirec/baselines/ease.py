"""EASE: each item predicted from the others of a row by one linear map, in closed form (Steck, 2019).

With G = X'X + regularization * I and P = G^-1, the map is B = I - P / diag(P): its diagonal is zero, so no item
predicts itself. Rows are unit vectors here, so that long rows do not outweigh the rest. `beside` also learns from
what an item is bought with the other way round and from what it is viewed with, at that weight; `words` from a row per
word of their descriptions, which holds the items that it describes; `near` from which items stand near each other in an
order; `fade` reads how strong links are (rows.py). Of a large catalogue the inverse is of the items that occur most,
and the others have regressions of their own (tail.py).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from logirec.baselines.base import LinkBaseline, Unsuited
from logirec.baselines.rows import Rows, co_purchases, gram, near, rows, scaled, strongest, with_itself
from logirec.baselines.tail import HEAD, MOST_NEAR, Products, solved
from logirec.data.dataset import Dataset
from logirec.data.words import bags


class Ease(LinkBaseline):
    def __init__(
        self,
        regularization: float = 3.0,
        beside: float = 0.0,
        words: float = 0.0,
        fade: float = 0.0,
        near: float = 0.0,
        device: str = "cpu",
    ) -> None:
        self.regularization, self.beside, self.words = regularization, beside, words
        self.fade, self.near, self.device = fade, near, device

    def learn(self, dataset: Dataset, reverse: bool) -> "Learnt":
        known = rows(dataset, reverse, fade=self.fade)
        known = Rows(scaled(known.table, 0.5), known.by_item)
        table = known.table
        if self.beside:
            if not known.by_item:
                raise Unsuited("learns from links and views, and this dataset is made of orders; ease is for those")
            around = (with_itself(other) for other in (co_purchases(dataset, not reverse, self.fade), self.views))
            table = sparse.vstack([table, *(scaled(other, 0.5) * np.float32(self.beside) for other in around)])
        counts = np.bincount(table.indices, minlength=dataset.items)
        kept = np.sort(np.argsort(-counts, kind="stable")[:HEAD])
        if self.words:
            table = sparse.vstack([table, bags(dataset).T * np.float32(self.words)])
        if self.near and (lines := dataset.lines()) is not None:
            table = sparse.vstack([table, near(lines, dataset.items) * np.float32(self.near)])
        products = gram(table.tocsc()[:, kept])
        tail = None if len(kept) == dataset.items else self._tail(Products(table, kept, products))
        return Learnt(known, kept, self._solve(products), tail, dataset.items)

    def _tail(self, among: Products) -> Any:
        """(N, N) sparse: the map to the items without an inverse, each from those that it occurs with most."""
        near = strongest(among.others(), MOST_NEAR)
        weights = solved(among, near, near, self.regularization)
        return among.placed(weights).T.tocsr()

    def _solve(self, products: np.ndarray) -> Tensor:
        gram = torch.from_numpy(products).to(self.device)
        gram.diagonal().add_(self.regularization)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram))
        weights = inverse.div_(-inverse.diagonal().clone())
        return weights.fill_diagonal_(0).contiguous()  # row by row, as sparse products read it: else each copies it


@dataclass(frozen=True)
class Learnt:
    known: Rows
    kept: np.ndarray  # (K,) the items with an inverse
    weights: Tensor  # (K, K)
    tail: Any  # (N, N) sparse: the map to the others, if there are any
    items: int

    def __call__(self, baskets: Any) -> Tensor:
        found = self._of_kept(baskets)
        if self.tail is None:
            return found
        scores = torch.from_numpy((self.known.of(baskets) @ self.tail).toarray()).to(found.device)
        scores[:, torch.from_numpy(self.kept).to(found.device)] = found
        return scores

    def largest(self, baskets: Any, most: int) -> Any:
        """(B, N) sparse: the largest scores of each basket. What speaks against an item counts in orders alone: large
        baskets add up much that does."""
        found = self._of_kept(baskets).cpu()
        if self.known.by_item:
            found.clamp_(min=0)
        places = found.abs().topk(min(most, len(self.kept)), dim=1).indices
        values = found.gather(1, places)
        starts = np.arange(len(found) + 1) * values.shape[1]
        shape = (len(found), self.items)
        first = sparse.csr_array((values.numpy().ravel(), self.kept[places.numpy().ravel()], starts), shape)
        if self.tail is None:
            return first
        others = self.known.of(baskets) @ self.tail
        return strongest(first + (others.maximum(0) if self.known.by_item else others), most)

    def _of_kept(self, baskets: Any) -> Tensor:
        """(B, K). A row has few items, of which a processor can make use and a GPU need not."""
        asked = self.known.of(baskets).tocsc()[:, self.kept].tocsr()
        if self.weights.device.type == "cpu":
            return torch.from_numpy(asked @ self.weights.numpy())
        return torch.from_numpy(asked.toarray()).to(self.weights.device) @ self.weights
