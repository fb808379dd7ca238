"""What goes with an item, predicted from all that is known of it by one linear map, in closed form.

EASE predicts what an item is bought with from what else it is bought with. This map also reads what it is bought with
the other way round, what it is viewed with, and its words:

    F = [bought | sold | viewed | words]  (N, K)      P = (F'F + strength * I)^-1

    weights of target j  =  P F'y_j, less what the columns that name j have to do with it: they must not predict it

The same P predicts both ways: what item i is bought with, and who is bought with j. They err on different pairs. Where
there are fewer items than columns the inverse of items, A = (FF' + strength * I)^-1 (N, N), gives the same for less:

    P F'  =  F'A      strength * P  =  I - F'AF

Of a large catalogue what occurs least has regressions of its own (baselines/tail.py), with G = FF' of the items most
like those it is bought with. Without the columns that name it, what y_j comes to there is y_j - strength * A y_j.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from logirec.baselines.rows import STEP, co_purchases, either_way, gram, scaled, strongest, with_itself
from logirec.baselines.tail import HEAD, LONGEST, MOST_NEAR, Products, short_rows, solved
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
    weights: Tensor  # (K, T); backward (T, K)
    backward: bool  # the targets are asked about, and each item's features answer
    tail: Any = None  # (N, N) sparse: what is said of other targets

    def largest(self, baskets: Any, most: int) -> Any:
        """(B, N) sparse: the largest scores of each basket, none below zero."""
        items, rows = self.features.shape[0], np.arange(baskets.shape[0])
        if self.backward:
            asked = baskets.tocsc()[:, self.targets].tocsr()
            rows = np.flatnonzero(np.diff(asked.indptr))  # of a large catalogue few can be asked about
            wanted = _product(asked[rows], self.weights).cpu().numpy()  # (B, K)
            found = torch.from_numpy(self.features @ wanted.T).T
            places = torch.arange(items)
        else:
            found, places = _product(baskets @ self.features, self.weights), torch.from_numpy(self.targets)
        values, best = found.clamp(min=0).topk(min(most, len(places)), dim=1)
        columns = places[best.cpu()].numpy().ravel()
        owners = np.repeat(rows, values.shape[1])
        first = sparse.csr_array((values.cpu().numpy().ravel(), (owners, columns)), (baskets.shape[0], items))
        return first if self.tail is None else strongest(first + baskets @ self.tail, most)


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
    by_items = items < len(kept)
    counts = [np.bincount(linked.indices, minlength=items) for linked in (bought, sold)]
    among = _among(known) if any(np.count_nonzero(times) > MOST_TARGETS for times in counts) else None
    inverse = _inverse(gram(features.T if by_items else features), device)
    found = []
    for at, times in enumerate(counts):
        targets = _most(times, MOST_TARGETS)
        named = np.stack([place[block * items + targets] for block in range(len(blocks))])
        wanted = blocks[at].tocsc()[:, targets]
        weights = (_by_items if by_items else _by_columns)(inverse, features, wanted, named, at)
        times[targets] = 0
        tail = None if among is None else _of_tail(among, known, len(blocks), blocks[at], np.flatnonzero(times))
        found.append((targets, weights, tail))
    (targets, forward, to), (askers, backward, back) = found
    return (
        Predicted(features, targets, forward.contiguous(), False, None if to is None else to.T.tocsr()),
        Predicted(features, askers, backward.T.contiguous(), True, back),
    )


def _most(counts: np.ndarray, most: int) -> np.ndarray:
    """The places of the largest, in order; none of what does not occur."""
    largest = np.sort(np.argsort(-counts, kind="stable")[:most])
    kept: np.ndarray = largest[counts[largest] > 0]
    return kept


def _inverse(products: np.ndarray, device: str) -> Tensor:
    table = torch.from_numpy(products).to(device)
    del products  # as large as what follows, and not needed any more
    table.diagonal().add_(STRENGTH)
    table = torch.linalg.cholesky(table)
    return torch.cholesky_inverse(table)


def _dense(table: Any, device: torch.device | str) -> Tensor:
    return torch.from_numpy(table.toarray()).to(device)


def _product(table: Any, dense: Tensor) -> Tensor:
    """Rows have few numbers, of which a processor can make use and a GPU need not."""
    if dense.device.type == "cpu":
        return torch.from_numpy(np.asarray(table @ dense.numpy()))
    return _dense(table, dense.device) @ dense


def _among(known: Any) -> Products:
    """G of the items' features (N, K)."""
    rows = known.tocsr()
    head = np.sort(np.argsort(-np.diff(rows.indptr), kind="stable")[:HEAD])
    return Products(rows.T, head, gram(rows[head].T))


def _of_tail(among: Products, known: Any, blocks: int, wanted: Any, targets: np.ndarray) -> Any:
    """(N, N) sparse: a row for each target, its column of `wanted` (N, N) as the features (N, K) of others have it."""
    items = known.shape[0]
    own = items * np.arange(blocks)[:, None] + targets  # the columns that name it
    own = own[:, np.diff(known.indptr)[own].max(0) <= LONGEST]
    if not own.size:
        return sparse.csr_array((items, items), dtype=np.float32)
    wanted, short = wanted.tocsc()[:, own[0]].T.tocsr(), short_rows(known.T)
    across = short.T.tocsr()
    steps = [wanted[first : first + STEP] for first in range(0, wanted.shape[0], STEP)]
    near = sparse.vstack([strongest(step @ across @ short, MOST_NEAR) for step in steps], format="csr")
    away = solved(among, near, wanted, STRENGTH, [known[:, columns].T.tocsr() for columns in own])
    found = (wanted.multiply(near > 0) - STRENGTH * away).maximum(0).tocsr()
    places = (np.repeat(own[0], np.diff(found.indptr)), found.indices)
    return sparse.csr_array((found.data, places), (items, items))


# Weights (K, T) of targets (N, T), none at a target's own columns `named` (S, T), -1 for those that were left out; the
# targets themselves are the columns named[at].


def _by_columns(inverse: Tensor, features: Any, wanted: Any, named: np.ndarray, at: int) -> Tensor:
    """With P (K, K). For a feature y = F e, so that P F'y = e - strength * P e; few targets are none."""
    columns = torch.from_numpy(named).to(inverse.device)
    there, columns = columns >= 0, columns.clamp(min=0)
    weights = inverse[:, columns[at]].mul_(-STRENGTH)
    kept = there[at].nonzero()[:, 0]
    weights[columns[at, kept], kept] += 1
    others = (~there[at]).nonzero()[:, 0]
    if len(others):
        products = _dense(features.T @ wanted[:, others.cpu().numpy()], inverse.device)
        weights[:, others] = inverse @ products
    own = weights[columns, torch.arange(weights.shape[1], device=inverse.device)]  # (S, T)
    shares = _shares(own, inverse[columns[:, None], columns[None]], there)
    for column, share in zip(columns, shares, strict=True):
        weights -= inverse[:, column] * share
    return weights


def _by_items(inverse: Tensor, features: Any, wanted: Any, named: np.ndarray, at: int) -> Tensor:
    """With A (N, N): of P nothing is needed but its numbers at the named columns."""
    there = torch.from_numpy(named >= 0).to(inverse.device)
    own_columns = [features.tocsc()[:, np.maximum(columns, 0)] for columns in named]  # each (N, T)
    moved = [_product(columns.T.tocsr(), inverse) for columns in own_columns]  # F_s'A, each (T, N)
    fitted = _product(wanted.T.tocsr(), inverse)  # y'A (T, N)
    own = torch.stack([_dots(columns, fitted) for columns in own_columns])  # (S, T)
    pairs = torch.stack([torch.stack([-_dots(one, other) for other in moved]) for one in own_columns])  # (S, S, T)
    pairs.diagonal().add_(1)
    shares = _shares(own, pairs / STRENGTH, there)
    for rows, share in zip(moved, shares / STRENGTH, strict=True):
        fitted += rows * share[:, None]
    weights = _product(features.T.tocsr(), fitted.T)
    targets = torch.arange(weights.shape[1], device=inverse.device)
    for columns, share in zip(torch.from_numpy(np.maximum(named, 0)).to(inverse.device), shares, strict=True):
        weights[columns, targets] -= share / STRENGTH
    return weights


def _dots(columns: Any, rows: Tensor) -> Tensor:
    """(T,) of each column (N, T) with its row (T, N)."""
    table = columns.tocoo()
    one, other = (torch.from_numpy(numbers.astype(np.int64)).to(rows.device) for numbers in table.coords)
    products = torch.from_numpy(table.data).to(rows.device) * rows[other, one]
    return torch.zeros(len(rows), device=rows.device).index_add_(0, other, products)


def _shares(own: Tensor, pairs: Tensor, there: Tensor) -> Tensor:
    """(S, T) how much of P's named columns to take away for no weight where `own` (S, T) is; `pairs` (S, S, T) of P."""
    pairs = torch.where(there[:, None] & there[None], pairs, 0)
    pairs = pairs + torch.diag_embed((~there).to(pairs).T).permute(1, 2, 0)  # 1 where a column was left out
    shares: Tensor = torch.linalg.solve(pairs.permute(2, 0, 1), torch.where(there, own, 0).T)
    return shares.T
