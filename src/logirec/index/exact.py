"""Every item scored, by one matrix product.

score(i | q, r) = -scale * divergence(i ; q) + bias[r, i]
                = q . (-scale * weights_i)  +  (bias[r, i] - scale * offset_i)  -  scale * offset_q
                  (1) a product of 2D numbers   (2) the item's own               (3) the query's own

(1) and (2) are made once for all items; (3) is the same for all items and only matters to the score's value.

Where it pays, a scan reads the weights as int8 and scores the items that can be among the best again.
"""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import embedding

from logirec.index.coarse import Coarse, pays
from logirec.index.scan import Best, Heights, Scan, WholeScan, alone, in_order, largest, one_hot
from logirec.logic.beta import Beta, positive
from logirec.logic.divergence import all_bits, item_features, query_features, query_offset
from logirec.model.evidence import Support
from logirec.model.logirec import LogiRec
from logirec.model.tensors import let_go, slices
from logirec.relation import Relation

# How large an unseen error may be: so many times the usual one, and the largest seen.
SPARE, SPARE_OF_LARGEST = 6.0, 1.5
DEPTHS = (4, 32)  # times as many items as are wanted are scored again, before all of them are


class ExactIndex:
    def __init__(self, model: LogiRec, coarse: bool | None = None, mapped: bool = False) -> None:
        """`coarse`: whether to scan in int8; None: where it is faster. `mapped`: the weights are a mapped file."""
        with torch.no_grad():
            self.scale = 1.0 if model.log_scale is None else float(model.log_scale.exp())
            self.weights = torch.empty_like(model.raw_items)  # (N, 2D)
            offset = self.weights.new_empty(model.items)
            for part in slices(model.items):
                features = item_features(positive(model.raw_items[part]))
                self.weights[part] = features.weights.mul_(-self.scale)
                offset[part] = features.offset.mul_(-self.scale)
                if mapped:
                    let_go(model.raw_items[part])
            bias = torch.zeros(len(Relation), 1, device=offset.device) if model.bias is None else model.bias.detach()
            self.offsets = offset + bias  # (R, N)
            coarse = pays(self.weights) if coarse is None else coarse
            self.coarse = Coarse(self.weights, self.offsets) if coarse else None

    @property
    def items(self) -> int:
        return len(self.weights)

    @torch.no_grad()
    def scores(self, queries: Beta, relation: Relation | Sequence[Relation], support: Support | None = None) -> Tensor:
        """(B, N), higher is better. The relation is that of all queries or of each."""
        with all_bits():
            table = torch.addmm(_of(self.offsets, relation), query_features(queries), self.weights.T)
        table.sub_(self.scale * query_offset(queries)[:, None])
        return table if support is None else support.add_to(table)

    @torch.no_grad()
    def scores_of(
        self, queries: Beta, relation: Relation | Sequence[Relation], rows: Tensor, support: Support | None = None
    ) -> Tensor:
        """(B, M): of each query's own items (B, M) only."""
        products = self._products(query_features(queries), relation, rows)
        own = products - self.scale * query_offset(queries)[:, None]
        return own if support is None else own + support.at(rows)

    def _products(self, features: Tensor, relation: Relation | Sequence[Relation], rows: Tensor) -> Tensor:
        """(B, M): scores without the queries' own part, which is the same for all items."""
        offsets = _of(self.offsets, relation)
        offsets = offsets[rows] if offsets.ndim == 1 else offsets.gather(1, rows)
        # Faster by far than a product of matrices and one column each, and than indexing.
        return (embedding(rows, self.weights) * features[:, None]).sum(2) + offsets

    @cached_property
    def _moments(self) -> tuple[Tensor, Tensor]:
        """Mean (X,) and covariance (X, X) of the items' (weights, offsets), X = 2D + R."""
        mean = torch.cat([self.weights.mean(0), self.offsets.mean(1)])
        covariance = mean.new_zeros(len(mean), len(mean), dtype=torch.float64)
        for part in slices(self.items):
            centred = torch.cat([self.weights[part], self.offsets[:, part].T], dim=1) - mean
            covariance += (centred.T @ centred).double()
        return mean, (covariance / self.items).to(mean)

    @torch.no_grad()
    def heights(self, queries: Beta, relation: Relation | Sequence[Relation], rows: Tensor) -> Heights:
        """Without a scan: scores are linear in the items, so their moments are those of the items."""
        mean, covariance = self._moments
        features = query_features(queries)
        asked = torch.cat([features, one_hot(relation, len(features)).to(mean)], dim=1)
        deviation = ((asked @ covariance) * asked).sum(1).clamp(min=1e-12).sqrt()
        above = self._products(features, relation, rows) - (asked @ mean)[:, None]
        return Heights(above / deviation[:, None], deviation)

    @torch.no_grad()
    def scan(
        self, queries: Beta, relation: Relation | Sequence[Relation], depth: int, support: Support | None = None
    ) -> Scan:
        depth = min(depth, self.items)
        if self.coarse is None:
            table = self.scores(queries, relation, support)
            rows, scores = best_of(table, depth)

            def allowed(line: int, top_k: int, forbidden: Tensor) -> Best:
                return best_of(table[line : line + 1].clone(), top_k, forbidden)

            return WholeScan(rows, scores, _below(scores, self.items), allowed, table)
        offsets, own = _of(self.coarse.offsets, relation), -self.scale * query_offset(queries)
        table = self.coarse.scores(query_features(queries), offsets, own)
        if support is not None:
            support.add_to(table)

        def again(line: int, top_k: int, forbidden: Tensor) -> Best:
            one, along, evidence = alone(line, queries, relation, support)
            rounded = table[line : line + 1].masked_fill(forbidden, -torch.inf)
            top_k = min(top_k, self.items)
            for times in DEPTHS:
                best, floor = self._rescored(one, along, rounded, min(times * top_k, self.items), evidence)
                if best.scores[0, top_k - 1] > floor or floor == -torch.inf:
                    return Best(*(part[:, :top_k] for part in best))
            return self.search(one, along, top_k, forbidden, evidence)

        best, floor = self._rescored(queries, relation, table, depth, support)
        table.scatter_(1, best.rows, best.scores)
        return WholeScan(*best, floor, again, table)

    def _rescored(
        self,
        queries: Beta,
        relation: Relation | Sequence[Relation],
        table: Tensor,
        depth: int,
        support: Support | None,
    ) -> tuple[Best, Tensor]:
        """The best of a rounded table (B, N), with their true scores, and the floor. Where it has -inf, that stays."""
        rounded, rows = largest(table, depth)
        out = rounded == -torch.inf
        scores = self.scores_of(queries, relation, rows, support).masked_fill_(out, -torch.inf)
        errors = (scores - rounded).masked_fill_(out, 0).abs_()
        unseen = torch.maximum(SPARE * errors.square().mean(1).sqrt(), SPARE_OF_LARGEST * errors.amax(1))
        rows, scores = in_order(rows, scores)
        best = Best(rows.masked_fill(scores == -torch.inf, -1), scores)
        return best, _below(rounded, self.items) + unseen

    def search(
        self,
        queries: Beta,
        relation: Relation,
        top_k: int,
        forbidden: Tensor | None = None,
        support: Support | None = None,
    ) -> Best:
        """Ties go to the lower row. `forbidden` (B, N) or (N,) is never among the best."""
        return best_of(self.scores(queries, relation, support), top_k, forbidden)


def best_of(scores: Tensor, top_k: int, forbidden: Tensor | None = None) -> Best:
    """The best of a table (B, N), which is changed where something is forbidden."""
    if forbidden is not None:
        scores.masked_fill_(forbidden, -torch.inf)
    values, rows = largest(scores, min(top_k, scores.shape[1]))
    rows, values = in_order(rows, values)  # topk leaves open which of equal scores come first
    return Best(rows.masked_fill(values == -torch.inf, -1), values)


def _of(offsets: Tensor, relation: Relation | Sequence[Relation]) -> Tensor:
    """(N,) where all queries have the same relation, else (B, N)."""
    if isinstance(relation, Relation):
        return offsets[relation]
    return offsets[relation[0]] if len(set(relation)) == 1 else offsets[[int(own) for own in relation]]


def _below(scores: Tensor, items: int) -> Tensor:
    """The score that no item beyond these exceeds: the last of them, or nothing where they are all there is."""
    return scores[:, -1] if scores.shape[1] < items else torch.full_like(scores[:, -1], -torch.inf)
