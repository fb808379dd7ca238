"""New items: what was never bought is taken for the mean of the items that are described like it.

How alike two items are is the cosine of their bags of words, of which each customer who chose them is one.
"""

from typing import Any

import numpy as np
import torch
from scipy import sparse

from logirec.baselines.rows import strongest
from logirec.data.dataset import Dataset
from logirec.data.words import bags
from logirec.model.logirec import LogiRec
from logirec.relation import Relation

MOST = 30  # items that a new one is the mean of
COMMON = 10_000  # words of more items than this are passed over: an item with no other word is like nothing
POWER = 4.0  # of the cosines: the nearest count most
TILE, ROWS = 1 << 24, 256  # numbers held at once, and rows worked on at once at least


def lookalikes(dataset: Dataset) -> Any:
    """(N, N) sparse: for each new item, how much of each other one it is. No row for what has been bought."""
    described, new = bags(dataset, customers=True), ~_bought(dataset)
    known = described.copy()
    known.data = known.data * np.repeat(~new, np.diff(known.indptr))
    known.eliminate_zeros()
    known, rows, parts = known.T.tocsr(), np.flatnonzero(new), []
    counts = np.diff(known.indptr)
    known.data[np.repeat(counts > COMMON, counts)] = 0
    known.eliminate_zeros()
    step = max(1, TILE // dataset.items)
    for first in range(0, len(rows), step):
        near = strongest(described[rows[first : first + step]] @ known, MOST)
        near.data **= POWER
        sums = near.sum(axis=1)
        parts.append(sparse.diags_array(np.where(sums > 0, 1 / np.maximum(sums, 1e-30), 0)) @ near)
    places = sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), (dataset.items, len(rows)))
    found = places @ sparse.vstack(parts) if parts else sparse.csr_array((dataset.items, dataset.items))
    found.eliminate_zeros()
    return found.astype(np.float32).tocsr()


def take_places(model: LogiRec, alike: Any) -> None:
    """A settled model's new items become what their lookalikes are on the mean, whether asked about or found."""
    new = np.flatnonzero(np.diff(alike.indptr))
    shares = alike[new].tocoo()
    places = torch.from_numpy(np.stack(shares.coords).astype(np.int64))
    weights = torch.sparse_coo_tensor(places, torch.from_numpy(shares.data), shares.shape, check_invariants=True)
    rows, weights = torch.from_numpy(new), weights.to(model.raw_items.device)
    with torch.no_grad():
        for table in (model.raw_items, model.anchors, None if model.bias is None else model.bias.T):
            if table is not None:
                table[rows] = torch.sparse.mm(weights, table)


def spread_to(table: Any, alike: Any, most: int) -> tuple[Any, Any]:
    """What a table of pairs (N, N) says of the lookalikes, said of the new items: as the first and as the second; the
    largest of each row."""
    step, first, second, across = max(ROWS, TILE // table.shape[0]), [], [], alike.T.tocsr()
    for at in range(0, table.shape[0], step):
        asked = (alike[at : at + step] @ table).tocsr()
        first.append(strongest(asked, most))
        second.append(strongest((table[at : at + step] + asked) @ across, most))
    return sparse.vstack(first, format="csr"), sparse.vstack(second, format="csr")


def of_unseen(alike: Any, dataset: Dataset) -> Any:
    """Without what is viewed: it was there to be bought and was not, and views speak of it for themselves."""
    views = dataset.graph().links[Relation.CO_VIEW]
    unseen = np.ones(dataset.items, dtype=np.float32)
    unseen[views.source], unseen[views.target] = 0, 0
    found = (sparse.diags_array(unseen) @ alike).tocsr()
    found.eliminate_zeros()
    return found


def _bought(dataset: Dataset) -> np.ndarray:
    """(N,) whether an item occurs in a training link or order."""
    links, orders = dataset.graph().links[Relation.CO_PURCHASE], dataset.baskets()
    found = np.zeros(dataset.items, dtype=bool)
    for rows in (links.source, links.target, () if orders is None else orders.values):
        found[np.asarray(rows, dtype=np.int64)] = True
    return found
