"""Matrix factorisation of the user-item matrix by the library `implicit`; an item is its factors."""

from typing import Literal, Self

import numpy as np
import torch
from scipy import sparse

from logirec.baselines.base import ItemVectors, Unsuited, user_items
from logirec.data.dataset import Dataset


class MF(ItemVectors):
    """als: weighted least squares (Hu et al., 2008); bpr: pairwise ranking (Rendle et al., 2009)."""

    def __init__(
        self,
        *,
        method: Literal["als", "bpr"] = "als",
        factors: int = 64,
        iterations: int | None = None,
        regularization: float | None = None,
        alpha: float = 40.0,
        learning_rate: float = 0.05,
        seed: int = 0,
    ) -> None:
        usual = (15, 10.0) if method == "als" else (300, 0.01)  # the two count and weigh different things
        self.method, self.factors = method, factors
        self.iterations = usual[0] if iterations is None else iterations
        self.regularization = usual[1] if regularization is None else regularization
        self.alpha = alpha  # als: how much an interaction weighs against none
        self.learning_rate = learning_rate  # bpr
        self.seed = seed

    def fit(self, dataset: Dataset) -> Self:
        table = sparse.csr_matrix(user_items(dataset))  # implicit takes no csr_array
        try:
            from implicit.cpu.als import AlternatingLeastSquares
            from implicit.cpu.bpr import BayesianPersonalizedRanking
            from threadpoolctl import threadpool_limits
        except ImportError as error:
            raise Unsuited("needs the extra: pip install 'logirec[baselines]'") from error
        # One thread gives the same factors every time; more of them race in bpr.
        shared = {
            "factors": self.factors,
            "iterations": self.iterations,
            "regularization": self.regularization,
            "num_threads": 1,
            "random_state": self.seed,
        }
        with threadpool_limits(1, "blas"):  # else implicit warns that its small products would be slow
            if self.method == "als":
                model = AlternatingLeastSquares(alpha=self.alpha, **shared)
            else:
                model = BayesianPersonalizedRanking(learning_rate=self.learning_rate, **shared)
            model.fit(table, show_progress=False)
        # The last column of bpr is the item's bias, which meets a one of the user's and never another item's.
        self.vectors = torch.from_numpy(np.ascontiguousarray(model.item_factors[:, : self.factors]))
        return self
