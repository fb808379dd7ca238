"""Collaborative filtering: an item is the set of its users, and two items score by how many they share."""

from typing import Literal, Self

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from logirec.baselines.base import members, user_items
from logirec.data.dataset import Dataset
from logirec.data.query_sets import Ragged


class CF:
    """product: how many users two items share; cosine: that over the root of how many each has."""

    pairwise = True

    def __init__(self, *, measure: Literal["product", "cosine"] = "product") -> None:
        self.measure = measure

    def fit(self, dataset: Dataset) -> Self:
        self.users = user_items(dataset)  # (users, N)
        if self.measure == "cosine":
            counts = np.maximum(self.users.sum(axis=0), 1)
            self.users = (self.users @ sparse.diags_array(counts**-0.5, dtype=np.float32)).tocsr()
        self.vectors = self.users.T.tocsr()  # (N, users)
        return self

    def scores(self, baskets: Ragged) -> Tensor:
        # Sparse, from the left: what is held is a table of baskets, never one of all items by all items.
        found = members(baskets, self.vectors.shape[0]) @ self.vectors @ self.users
        return torch.from_numpy(found.toarray())
