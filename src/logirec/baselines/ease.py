"""EASE: each item predicted from the others of a row by one linear map, in closed form (Steck, 2019).

With G = X'X + regularization * I and P = G^-1, the map is B = I - P / diag(P): its diagonal is zero, so no item
predicts itself. Rows are unit vectors here, so that long rows do not outweigh the rest. `beside` also learns from
what an item is bought with the other way round and from what it is viewed with, at that weight.
"""

from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from logirec.baselines.base import Ask, LinkBaseline, Unsuited
from logirec.baselines.rows import Rows, co_purchases, rows, scaled, with_itself
from logirec.data.dataset import Dataset

MOST_ITEMS = 15_000  # a dense inverse: 1 GB at this size. Of a larger catalogue, the items that occur most


class Ease(LinkBaseline):
    def __init__(self, regularization: float = 3.0, beside: float = 0.0, device: str = "cpu") -> None:
        self.regularization, self.beside, self.device = regularization, beside, device

    def learn(self, dataset: Dataset, reverse: bool) -> Ask:
        known = rows(dataset, reverse)
        known = Rows(scaled(known.table, 0.5), known.by_item)
        table = known.table
        if self.beside:
            if not known.by_item:
                raise Unsuited("learns from links and views, and this dataset is made of orders; ease is for those")
            around = (with_itself(other) for other in (co_purchases(dataset, not reverse), self.views))
            table = sparse.vstack([table, *(scaled(other, 0.5) * np.float32(self.beside) for other in around)])
        counts = np.bincount(table.indices, minlength=dataset.items)
        kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_ITEMS])
        weights = self._solve(table.tocsc()[:, kept])
        places = torch.from_numpy(kept).to(self.device)

        def ask(baskets: Any) -> Tensor:
            found = self._product(known.of(baskets).tocsc()[:, kept].tocsr(), weights)
            if len(kept) == dataset.items:
                return found
            scores = found.new_full((len(found), dataset.items), -torch.inf)
            scores[:, places] = found
            return scores

        return ask

    def _product(self, asked: Any, weights: Tensor) -> Tensor:
        """A row has few items, of which a processor can make use and a GPU need not."""
        if weights.device.type == "cpu":
            return torch.from_numpy(asked @ weights.numpy())
        return torch.from_numpy(asked.toarray()).to(self.device) @ weights

    def _solve(self, table: Any) -> Tensor:
        gram = torch.from_numpy((table.T @ table).toarray()).to(self.device)
        gram.diagonal().add_(self.regularization)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram))
        weights = inverse.div_(-inverse.diagonal().clone())
        return weights.fill_diagonal_(0)
