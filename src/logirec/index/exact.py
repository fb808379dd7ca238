"""Every item scored, by one matrix product.

score(i | q, r) = -scale * divergence(i ; q) + bias[r, i]
                = q . (-scale * weights_i)  +  (bias[r, i] - scale * offset_i)  -  scale * offset_q
                  (1) a product of 2D numbers   (2) the item's own               (3) the query's own

(1) and (2) are made once for all items; (3) is the same for all items and only matters to the score's value.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from logirec.logic.beta import Beta
from logirec.logic.divergence import all_bits, query_features, query_offset
from logirec.model.logirec import LogiRec
from logirec.relation import Relation


class Best(NamedTuple):
    """The best items of each query, best first."""

    rows: Tensor  # (B, K); -1 where no more items are allowed
    scores: Tensor  # (B, K); -inf there


class ExactIndex:
    def __init__(self, model: LogiRec) -> None:
        with torch.no_grad():
            features = model.features()
            self.scale = 1.0 if model.log_scale is None else float(model.log_scale.exp())
            self.weights = features.weights.mul_(-self.scale)  # (N, 2D)
            offset = features.offset.mul_(-self.scale)
            bias = torch.zeros(len(Relation), 1, device=offset.device) if model.bias is None else model.bias.detach()
            self.offsets = offset + bias  # (R, N)

    @property
    def items(self) -> int:
        return len(self.weights)

    @torch.no_grad()
    def scores(self, queries: Beta, relation: Relation) -> Tensor:
        """(B, N), higher is better."""
        with all_bits():
            table = torch.addmm(self.offsets[relation], query_features(queries), self.weights.T)
        return table.sub_(self.scale * query_offset(queries)[:, None])

    @torch.no_grad()
    def scores_of(self, queries: Beta, relation: Relation, rows: Tensor) -> Tensor:
        """(B, M): of each query's own items (B, M) only."""
        with all_bits():
            products = torch.einsum("bd,bmd->bm", query_features(queries), self.weights[rows])
        return products + self.offsets[relation][rows] - self.scale * query_offset(queries)[:, None]

    def search(self, queries: Beta, relation: Relation, top_k: int, forbidden: Tensor | None = None) -> Best:
        """Ties go to the lower row. `forbidden` (B, N) or (N,) is never among the best."""
        return best_of(self.scores(queries, relation), top_k, forbidden)


def best_of(scores: Tensor, top_k: int, forbidden: Tensor | None = None) -> Best:
    """The best of a table (B, N), which is changed where something is forbidden."""
    if forbidden is not None:
        scores.masked_fill_(forbidden, -torch.inf)
    top_k = min(top_k, scores.shape[1])
    values, rows = scores.topk(top_k, dim=1)
    # topk leaves open which of equal scores come first; among those it has taken, the lower row does.
    order = torch.argsort(rows, dim=1)
    values, rows = values.gather(1, order), rows.gather(1, order)
    order = torch.argsort(values, dim=1, descending=True, stable=True)
    values, rows = values.gather(1, order), rows.gather(1, order)
    return Best(rows.masked_fill(values == -torch.inf, -1), values)
