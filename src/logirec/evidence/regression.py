"""What goes with an item, predicted from all that is known of it by one linear map, in closed form.

EASE predicts what an item is bought with from what else it is bought with. This map also reads what it is bought with
the other way round, what it is viewed with, and its words:

    F = [bought | sold | viewed | words]  (N, K)      P = (F'F + strength * I)^-1

    weights of target j  =  P F'y_j, less what the columns that name j have to do with it: they must not predict it

The same P predicts both ways: what item i is bought with, and who is bought with j. They err on different pairs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from logirec.baselines.rows import co_purchases, either_way, scaled, with_itself
from logirec.data.dataset import Dataset
from logirec.data.graph import matrix
from logirec.data.words import bags
from logirec.relation import Relation

STRENGTH = 5.0
# A dense inverse of 1.6 GB, and weights of 1 GB each way. Of more, those that occur most.
MOST_COLUMNS, MOST_TARGETS = 20_000, 12_000


@dataclass(frozen=True)
class Predicted:
    """Scores of pairs, made when they are asked for."""

    features: Any  # (N, K) sparse
    targets: np.ndarray  # (T,) items
    weights: Tensor  # (K, T)
    backward: bool  # the targets are asked about, and each item's features answer

    def largest(self, baskets: Any, most: int) -> Any:
        """(B, N) sparse: the largest scores of each basket, none below zero."""
        items, rows = self.features.shape[0], np.arange(baskets.shape[0])
        if self.backward:
            asked = baskets.tocsc()[:, self.targets].tocsr()
            rows = np.flatnonzero(np.diff(asked.indptr))  # of a large catalogue few can be asked about
            found = self._product(self.features, self.weights @ self._dense(asked[rows]).T).T
            places = torch.arange(items)
        else:
            found, places = self._product(baskets @ self.features, self.weights), torch.from_numpy(self.targets)
        values, best = found.clamp(min=0).topk(min(most, len(places)), dim=1)
        columns = places[best.cpu()].numpy().ravel()
        owners = np.repeat(rows, values.shape[1])
        return sparse.csr_array((values.cpu().numpy().ravel(), (owners, columns)), (baskets.shape[0], items))

    def _dense(self, table: Any) -> Tensor:
        return torch.from_numpy(table.toarray()).to(self.weights.device)

    def _product(self, table: Any, dense: Tensor) -> Tensor:
        """Rows have few numbers, of which a processor can make use and a GPU need not."""
        if dense.device.type == "cpu":
            return torch.from_numpy(np.asarray(table @ dense.numpy()))
        return self._dense(table) @ dense


def both_ways(
    dataset: Dataset, reverse: bool = False, device: str = "cpu", fade: float = 0.0
) -> tuple[Predicted, Predicted]:
    """From an item to what it is bought with, and from there; `reverse`: of the links reversed. `fade`: see rows.py."""
    items = dataset.items
    bought, sold = (co_purchases(dataset, way, fade) for way in (reverse, not reverse))
    views = matrix(dataset.graph().links[Relation.CO_VIEW], items).astype(np.float32)
    blocks = [
        scaled(table, 0.5) for table in (with_itself(bought), sold, either_way(views))
    ]  # rows of length 1, as bags are
    known = sparse.hstack([*blocks, bags(dataset)], format="csc")
    kept = _most(np.diff(known.indptr) - 1, MOST_COLUMNS)  # what one item alone has says nothing of others
    place = np.full(known.shape[1], -1)
    place[kept] = np.arange(len(kept))
    features = known[:, kept].tocsr()
    gram = torch.from_numpy((features.T @ features).toarray()).to(device)
    gram.diagonal().add_(STRENGTH)
    gram = torch.linalg.cholesky(gram)  # under the same name: the first is not needed any more, and large
    inverse = torch.cholesky_inverse(gram)
    del gram
    found = []
    for at, linked in enumerate((bought, sold)):
        targets = _most(np.bincount(linked.indices, minlength=items), MOST_TARGETS)
        named = torch.from_numpy(np.stack([place[block * items + targets] for block in range(len(blocks))])).to(device)
        weights = _fitted(inverse, features, blocks[at].tocsc()[:, targets], named[at])
        found.append((targets, _without(weights, inverse, named)))
    (targets, forward), (askers, backward) = found
    return Predicted(features, targets, forward, False), Predicted(features, askers, backward, True)


def _most(counts: np.ndarray, most: int) -> np.ndarray:
    """The places of the largest, in order; none of what does not occur."""
    largest = np.sort(np.argsort(-counts, kind="stable")[:most])
    kept: np.ndarray = largest[counts[largest] > 0]
    return kept


def _fitted(inverse: Tensor, features: Any, wanted: Any, at: Tensor) -> Tensor:
    """(K, T) P F'y for targets (N, T), whose columns among the features are `at` (T,), -1 for those that were left out.

    For a feature y = F e, so that P F'y = e - strength * P e; few are not.
    """
    weights = inverse[:, at.clamp(min=0)].mul_(-STRENGTH)
    kept = (at >= 0).nonzero()[:, 0]
    weights[at[kept], kept] += 1
    others = (at < 0).nonzero()[:, 0]
    if len(others):
        products = (features.T @ wanted[:, others.cpu().numpy()]).toarray()
        weights[:, others] = inverse @ torch.from_numpy(products).to(inverse)
    return weights


def _without(weights: Tensor, inverse: Tensor, named: Tensor) -> Tensor:
    """(K, T) in place: least squares with no weight at each target's own columns, `named` (S, T), -1 where left out."""
    there, at = named >= 0, named.clamp(min=0)
    targets = torch.arange(weights.shape[1], device=weights.device)
    own = torch.where(there, weights[at, targets], 0)  # (S, T)
    pairs = torch.where(there[:, None] & there[None], inverse[at[:, None], at[None]], 0)  # (S, S, T)
    pairs = pairs + torch.diag_embed((~there).to(pairs).T).permute(1, 2, 0)  # 1 where a column was left out
    share = torch.linalg.solve(pairs.permute(2, 0, 1), own.T)  # (T, S)
    for column, part in zip(at, (share.T * there), strict=True):
        weights -= inverse[:, column] * part
    return weights
