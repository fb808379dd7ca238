"""item2vec: an in and an out vector per item, learnt from pairs of a row against drawn items (skip-gram).

The score of j for i is in(i) . out(j): directed, where the rows are.
"""

from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn.functional import logsigmoid

from logirec.baselines.base import Ask, LinkBaseline, Unsuited
from logirec.baselines.rows import rows
from logirec.data.dataset import Dataset

BATCH, NEGATIVES = 1024, 10
MOST_STEPS = 500  # an epoch: more pairs make larger batches


class Item2Vec(LinkBaseline):
    """`flatness`: power of an item's count in the draw of negatives; 0 draws all alike and keeps popularity in."""

    def __init__(
        self, dims: int = 64, epochs: int = 20, flatness: float = 0.75, device: str = "cpu", seed: int = 0
    ) -> None:
        self.dims, self.epochs, self.flatness = dims, epochs, flatness
        self.device, self.seed = torch.device(device), seed

    def learn(self, dataset: Dataset, reverse: bool) -> Ask:
        known = rows(dataset, reverse, itself=False)
        pairs = _ItemPairs(known.table, self.device) if known.by_item else _OrderPairs(known.table, self.device)
        if not len(pairs):
            raise Unsuited("no two items occur together in training: there is nothing to learn from")
        start = Generator().manual_seed(self.seed)
        vectors = torch.zeros(2, dataset.items, self.dims)
        vectors[0].uniform_(-0.5, 0.5, generator=start).div_(self.dims**0.5)  # the out vectors start at zero
        vectors = vectors.to(self.device).requires_grad_()
        counts = torch.from_numpy(np.bincount(known.table.indices, minlength=dataset.items)).to(self.device)
        chances = counts.float() ** self.flatness
        optimizer = torch.optim.Adam([vectors], lr=0.01)
        draws = Generator(self.device).manual_seed(self.seed)
        batch = max(BATCH, len(pairs) // MOST_STEPS)
        for _ in range(max(1, self.epochs * len(pairs) // batch)):
            anchors, targets = pairs.draw(batch, draws)
            wrong = torch.multinomial(chances, batch * NEGATIVES, replacement=True, generator=draws)
            into, out = vectors[0][anchors], vectors[1]
            right = (into * out[targets]).sum(-1)
            others = torch.bmm(out[wrong].view(batch, NEGATIVES, -1), into[:, :, None])[:, :, 0]
            loss = -(logsigmoid(right) + logsigmoid(-others).sum(1)).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        trained = vectors.detach()

        def ask(baskets: Any) -> Tensor:
            owners, items = (torch.from_numpy(each).long().to(self.device) for each in baskets.nonzero())
            summed = trained.new_zeros(baskets.shape[0], self.dims).index_add_(0, owners, trained[0][items])
            return summed @ trained[1].T

        return ask


class _ItemPairs:
    """An item and something of its row."""

    def __init__(self, table: Any, device: torch.device) -> None:
        self.anchors, self.targets = (torch.from_numpy(each).long().to(device) for each in table.nonzero())

    def __len__(self) -> int:
        return len(self.anchors)

    def draw(self, count: int, draws: Generator) -> tuple[Tensor, Tensor]:
        at = torch.randint(len(self.anchors), (count,), generator=draws, device=draws.device)
        return self.anchors[at], self.targets[at]


class _OrderPairs:
    """Two items of an order, a large order no more often than its items."""

    def __init__(self, table: Any, device: torch.device) -> None:
        table = table[np.diff(table.indptr) > 1]
        sizes = np.diff(table.indptr)
        self.items = torch.from_numpy(table.indices).long().to(device)
        self.starts = torch.from_numpy(np.repeat(table.indptr[:-1], sizes)).long().to(device)
        self.sizes = torch.from_numpy(np.repeat(sizes, sizes)).long().to(device)

    def __len__(self) -> int:
        return len(self.items)

    def draw(self, count: int, draws: Generator) -> tuple[Tensor, Tensor]:
        at = torch.randint(len(self.items), (count,), generator=draws, device=draws.device)
        sizes, starts = self.sizes[at], self.starts[at]
        further = torch.rand(count, generator=draws, device=draws.device) * (sizes - 1)
        other = starts + (at - starts + 1 + further.long().clamp(max=sizes - 2)) % sizes
        return self.items[at], self.items[other]
