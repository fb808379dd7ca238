"""What occurs together: the rows that most baselines learn from."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from logirec.data.dataset import Dataset
from logirec.data.graph import matrix, standing
from logirec.data.query_sets import Ragged
from logirec.relation import Relation

STEP = 1_000  # rows of a dense product made at once
APART = 3  # lines of an order that are up to so far apart stand near each other


class Rows(NamedTuple):
    """A row per training order or, where the dataset has links alone, per item: what is bought with it."""

    table: Any  # (T, N) sparse
    by_item: bool  # row i is item i's

    def of(self, baskets: Any) -> Any:
        """What a basket asks with: itself, or the rows of its members."""
        return baskets @ self.table if self.by_item else baskets


def co_purchases(dataset: Dataset, reverse: bool = False, fade: float = 0.0) -> Any:
    """(N, N) sparse: 1 from an item to what is bought with it; reversed, from there. `fade`: the weakest of an item's
    links counts so much less than its strongest."""
    links = dataset.graph().links[Relation.CO_PURCHASE]
    values = np.float32(1) - np.float32(fade) * standing(links, dataset.items) if fade else None
    table = matrix(links, dataset.items, values).astype(np.float32)
    return table.T.tocsr() if reverse else table


def rows(dataset: Dataset, reverse: bool = False, itself: bool = True, fade: float = 0.0) -> Rows:
    """`itself`: an item's row holds the item too, as an order would. `fade`: see `co_purchases`."""
    orders = dataset.baskets()
    if orders is not None:
        ones = np.ones(len(orders.values), dtype=np.float32)
        return Rows(sparse.csr_array((ones, orders.values, orders.offsets), (len(orders), dataset.items)), False)
    linked = co_purchases(dataset, reverse, fade)
    return Rows(with_itself(linked) if itself else linked, True)


def near(orders: Ragged, items: int) -> Any:
    """(P, N) sparse: a row for each two items whose lines stand near each other in an order, as if they were an order
    of their own; it counts half for each line between them, and less in a long order, by the root of its length."""
    owners = orders.owners
    first = [np.flatnonzero(owners[:-apart] == owners[apart:]) for apart in range(1, APART + 1)]
    pairs = np.concatenate([np.stack([at, at + apart]) for apart, at in enumerate(first, 1)], axis=1)
    weights = 0.5 ** (pairs[1] - pairs[0] - 1) / np.sqrt(orders.lengths[owners[pairs[0]]])
    starts = 2 * np.arange(pairs.shape[1] + 1)
    values = np.repeat(np.sqrt(weights), 2).astype(np.float32)  # squared in the sums over rows
    return sparse.csr_array((values, orders.values[pairs.T.ravel()], starts), (pairs.shape[1], items))


def with_itself(table: Any) -> Any:
    return (table + sparse.eye_array(table.shape[0], dtype=np.float32)).tocsr()


def either_way(links: Any) -> Any:
    """(N, N) sparse: 1 where two items are linked one way or the other."""
    return ((links + links.T) > 0).astype(np.float32).tocsr()


def scaled(table: Any, power: float) -> Any:
    """Rows divided by a power of their squared length: 0.5 makes them unit vectors."""
    lengths = table.power(2).sum(axis=1).astype(np.float32)
    lengths[lengths == 0] = 1
    return sparse.diags_array(lengths**-power).astype(np.float32) @ table


def gram(table: Any) -> np.ndarray:
    """(K, K) dense: the product of the columns of (T, K) sparse with each other, without all of it sparse before."""
    across, table = table.T.tocsr(), table.tocsr()
    found = np.empty((table.shape[1], table.shape[1]), dtype=table.dtype)
    for first in range(0, len(found), STEP):
        found[first : first + STEP] = (across[first : first + STEP] @ table).toarray()
    return found


def strongest(table: Any, most: int) -> Any:
    """The largest entries of each row, whatever their sign."""
    table = table.tocsr()
    counts, sizes = np.diff(table.indptr), np.abs(table.data)
    owners = np.repeat(np.arange(table.shape[0]), counts)
    least = np.zeros(table.shape[0], sizes.dtype)  # so that few are left to be put in order
    for row in np.flatnonzero(counts > most):
        least[row] = np.partition(sizes[table.indptr[row] : table.indptr[row + 1]], -most)[-most]
    left = np.flatnonzero(sizes >= least[owners])
    order = left[np.lexsort((table.indices[left], -sizes[left], owners[left]))]  # ties by row: the same everywhere
    counts = np.bincount(owners[left], minlength=table.shape[0])
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = order[place < most]
    return sparse.csr_array((table.data[kept], (owners[kept], table.indices[kept])), table.shape)
