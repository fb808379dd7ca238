"""LightGCN (He et al., SIGIR 2020) on the user-item graph; an item is the mean of its users' embeddings.

Memory is linear in users, items and interactions: propagation is sparse, and the loss sees a batch of pairs.
"""

from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from torch import Tensor
from torch.nn.functional import embedding, softplus

from logirec.baselines.base import ItemVectors, user_items
from logirec.data.dataset import Dataset

MOST_STEPS = 100  # an epoch: each goes through the whole graph, so larger graphs have larger batches


def normalised(table: Any) -> Tensor:
    """(users + N, users + N) sparse: each interaction, both ways, over the root of both ends' degrees."""
    graph = sparse.block_array([[None, table], [table.T, None]], format="coo")
    degrees = np.maximum(graph.sum(axis=0), 1)
    values = torch.from_numpy((graph.data / np.sqrt(degrees[graph.row] * degrees[graph.col])).astype(np.float32))
    places = torch.from_numpy(np.stack([graph.row, graph.col]).astype(np.int64))
    # Checked: torch warns where it is not told, and once a fit it costs nothing.
    return torch.sparse_coo_tensor(places, values, graph.shape, check_invariants=True).coalesce()


def propagate(graph: Tensor, start: Tensor, layers: int) -> Tensor:
    """The mean over layers 0 to `layers`."""
    total = layer = start
    for _ in range(layers):
        layer = graph @ layer
        total = total + layer
    return total / (layers + 1)


class LightGCN(ItemVectors):
    def __init__(
        self,
        *,
        dims: int = 64,
        layers: int = 2,
        epochs: int = 15,
        batch: int = 8192,
        learning_rate: float = 0.03,
        decay: float = 0.01,
        device: str = "cpu",
        seed: int = 0,
    ) -> None:
        self.dims, self.layers, self.epochs, self.batch = dims, layers, epochs, batch
        self.learning_rate, self.decay, self.device, self.seed = learning_rate, decay, torch.device(device), seed

    def fit(self, dataset: Dataset) -> Self:
        table = user_items(dataset)
        users, items = table.shape
        graph = normalised(table).to(self.device)
        pairs = torch.from_numpy(np.stack(table.nonzero()).astype(np.int64)).to(self.device)  # (2, E)
        batch = max(self.batch, -(-pairs.shape[1] // MOST_STEPS))
        random = torch.Generator(self.device).manual_seed(self.seed)
        start = torch.randn(users + items, self.dims, generator=random, device=self.device) * 0.1
        optimizer = torch.optim.Adam([start.requires_grad_()], lr=self.learning_rate)
        for _ in range(self.epochs):
            for chosen in torch.split(torch.randperm(pairs.shape[1], generator=random, device=self.device), batch):
                user, bought = pairs[:, chosen]
                other = torch.randint(items, user.shape, generator=random, device=self.device)
                rows = torch.stack([user, users + bought, users + other])
                final = propagate(graph, start.detach(), self.layers).requires_grad_()
                u, i, j = embedding(rows, final)
                loss = softplus((u * (j - i)).sum(1)).mean()
                loss = loss + self.decay / 2 * embedding(rows, start).square().sum() / len(chosen)
                direct, through = torch.autograd.grad(loss, [start, final])
                # Propagation is linear and symmetric, so it is its own gradient: no layer is kept for going back.
                start.grad = direct + propagate(graph, through, self.layers)
                optimizer.step()
        final = propagate(graph, start.detach(), self.layers)
        counts = np.maximum(table.sum(axis=0), 1)
        self.vectors = torch.from_numpy((table.T @ final[:users].cpu().numpy()) / counts[:, None]).to(self.device)
        return self
