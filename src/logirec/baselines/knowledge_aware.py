"""What is bought next: two vectors an item, as the earlier and as the later one (after Xu et al., WSDM 2020).

While learning, the five latest ratings of the user up to then speak too, so that the pair need not explain them.
"""

from typing import Self

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn.functional import embedding, softplus

from logirec.baselines.base import Unsuited, interactions_of, summed
from logirec.data.dataset import Dataset
from logirec.data.query_sets import Ragged

CONTEXT = 5  # latest ratings
MOST_STEPS = 2_000  # an epoch: a step goes through all vectors, so that more purchases make larger batches


class KnowledgeAware:
    pairwise = False
    source: Tensor  # (N, D) of an item as the earlier of two
    target: Tensor  # and as the later

    def __init__(
        self,
        *,
        dims: int = 64,
        epochs: int = 10,
        negatives: int = 5,
        batch: int = 1024,
        learning_rate: float = 0.003,
        decay: float = 0.03,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.dims, self.epochs, self.negatives, self.batch = dims, epochs, negatives, batch
        self.learning_rate, self.decay, self.device, self.seed = learning_rate, decay, torch.device(device), seed

    def fit(self, dataset: Dataset) -> Self:
        found = interactions_of(dataset)
        time = np.nan_to_num(found["time"].astype(np.float64), nan=-np.inf)  # without one: first, as stored
        order = np.lexsort((time, found["user"]))
        user, item, rating = (found[name][order] for name in ("user", "item", "rating"))
        next_ = np.flatnonzero((user[1:] == user[:-1]) & (item[1:] != item[:-1])) + 1
        if not len(next_):
            raise Unsuited("no user bought two different items: there is no order to learn from")
        weights = np.clip(np.nan_to_num(rating.astype(np.float32), nan=1.0), 0, None)
        self._learn(item, weights, np.searchsorted(user, user), next_, dataset.items)
        return self

    def _learn(self, item: np.ndarray, weights: np.ndarray, first: np.ndarray, next_: np.ndarray, items: int) -> None:
        """Each array is by place, users one after the other; `first` is where a place's user begins."""
        bought, begins, ends = (torch.from_numpy(a.astype(np.int64)).to(self.device) for a in (item, first, next_))
        ratings = torch.from_numpy(weights).to(self.device)
        # One more each, or an item that nobody bought would never learn that it is a poor answer.
        frequency = (torch.bincount(bought, minlength=items) + 1).double() ** 0.75
        upper = (frequency / frequency.sum()).cumsum(0)
        random = Generator(self.device).manual_seed(self.seed)
        target = torch.randn(items, self.dims, generator=random, device=self.device) * self.dims**-0.5
        source, context = torch.zeros_like(target), torch.zeros_like(target)  # what is never asked keeps saying nothing
        tables = [table.requires_grad_() for table in (source, target, context)]
        optimizer = torch.optim.Adam(tables, lr=self.learning_rate)
        latest = torch.arange(1, CONTEXT + 1, device=self.device)
        batch = max(self.batch, -(-len(ends) // MOST_STEPS))
        for _ in range(self.epochs):
            for chosen in torch.split(torch.randperm(len(ends), generator=random, device=self.device), batch):
                end = ends[chosen]
                places = end[:, None] - latest  # (B, 5)
                real = places >= begins[end, None]
                places = places.clamp(min=0)
                weight = ratings[places] * real
                weight = weight / weight.sum(1, keepdim=True).clamp(min=1e-9)
                about = (weight[:, :, None] * embedding(bought[places], context)).sum(1)
                own = embedding(bought[end - 1], source)  # (B, D)
                draws = torch.rand(len(end), self.negatives, generator=random, device=self.device).double()
                others = torch.searchsorted(upper, draws, right=True).clamp(max=items - 1)
                rows = torch.cat([bought[end, None], others], dim=1)  # (B, 1 + K)
                answers = embedding(rows, target)
                logits = (answers @ (own + about)[:, :, None])[:, :, 0]
                loss = softplus(-logits[:, 0]).mean() + softplus(logits[:, 1:]).sum(1).mean()
                size = sum(vectors.square().sum() for vectors in (own, about, answers))
                loss = loss + self.decay / 2 * size / len(end)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        self.source, self.target = source.detach(), target.detach()

    def scores(self, baskets: Ragged) -> Tensor:
        return summed(self.source, baskets) @ self.target.T
