"""LogiRec: item embeddings, the queries that can be asked of them, and their scores."""

from enum import IntEnum

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import embedding

from logirec.config import ModelConfig
from logirec.logic.beta import Beta, positive, stack, within_range
from logirec.logic.divergence import ItemFeatures, all_pairs, item_features
from logirec.logic.operators import Intersection, Projection, negation
from logirec.relation import Relation


class Shape(IntEnum):
    """Shapes of query. A score's bias depends on it."""

    CO_PURCHASE = 0  # what is bought with the item
    CO_VIEW = 1  # what is looked at with the item
    LOW = 2  # bought with the item and not a substitute of it
    HIGH = 3  # what a set of items calls for


class LogiRec(nn.Module):
    def __init__(self, items: int, config: ModelConfig, seed: int = 0) -> None:
        super().__init__()
        self.config = config
        d = config.dims
        self.raw_items = nn.Parameter(torch.empty(items, 2 * d))
        self.project = Projection(d, config.width, config.layers, len(Relation), config.dropout)
        self.intersect = Intersection(d)
        self.bias = nn.Parameter(torch.empty(len(Shape), items)) if config.item_bias else None
        self.log_scale = nn.Parameter(torch.empty(())) if config.temperature else None
        self.reset(seed)

    @torch.no_grad()
    def reset(self, seed: int) -> None:
        """Fresh parameters, the same for the same seed on every device."""
        draws = torch.Generator().manual_seed(seed)

        def fill(parameter: Tensor, bound: float) -> None:
            parameter.copy_(torch.empty(parameter.shape).uniform_(-bound, bound, generator=draws))

        fill(self.raw_items, self.config.item_spread)
        fill(self.project.relation, self.config.item_spread)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                fan = sum(module.weight.shape)
                fill(module.weight, (6 / fan) ** 0.5)  # Glorot
                if module.bias is not None:
                    module.bias.zero_()
        if self.bias is not None:
            self.bias.zero_()
        if self.log_scale is not None:
            self.log_scale.fill_(self.config.scale_start).log_()

    @torch.no_grad()
    def start_at_popularity(self, shape: Shape, counts: Tensor) -> None:
        """Before it has learnt anything, the model of a shape ranks items by how often they are its answer."""
        if self.bias is not None:
            popularity = torch.log1p(counts.to(self.bias.dtype))
            self.bias[shape] = popularity - popularity.mean()

    @property
    def items(self) -> int:
        return len(self.raw_items)

    def embed(self, rows: Tensor) -> Beta:
        return positive(embedding(rows, self.raw_items))

    # Queries ----------------------------------------------------------------------------------------------------

    def ask(self, shape: Shape, members: Tensor, present: Tensor | None = None, draws: Generator | None = None) -> Beta:
        """Queries of one shape about baskets (B, M); `present` marks the places that hold an item."""
        if shape == Shape.HIGH:
            return self._high(members, present, draws)
        anchors = self.embed(members[:, 0])
        if shape == Shape.LOW:
            bought, viewed = self.project(anchors, (Relation.CO_PURCHASE, Relation.CO_VIEW), draws)
            return self._intersect(stack([bought, negation(viewed)]))
        return self._along(Relation(int(shape)), anchors, draws)

    def _high(self, members: Tensor, present: Tensor | None, draws: Generator | None) -> Beta:
        """The paper's: attention sums up the set, one projection moves it.

        `each_member` also projects every member and intersects all of it.
        """
        basket = self.embed(members)
        summary = self._intersect(basket, present)
        if not self.config.each_member:
            return self._along(Relation.CO_PURCHASE, summary, draws)
        b, m = members.shape
        everything = Beta(*(torch.cat((x.flatten(0, 1), y)) for x, y in zip(basket, summary, strict=True)))
        moved = self._along(Relation.CO_PURCHASE, everything, draws)
        operands = Beta(*(torch.cat((x[: b * m].view(b, m, -1), x[b * m :, None]), dim=1) for x in moved))
        if present is not None:
            present = torch.cat((present, present.new_ones(b, 1)), dim=1)
        return self._intersect(operands, present)

    def _along(self, relation: Relation, embedding: Beta, draws: Generator | None) -> Beta:
        moved: list[Beta] = self.project(embedding, (relation,), draws)
        return moved[0]

    def _intersect(self, operands: Beta, present: Tensor | None = None) -> Beta:
        """Weights that sum to 1.0000001 must not leave the range."""
        alpha, beta = self.intersect(operands, present)
        return Beta(within_range(alpha), within_range(beta))

    # Scores -----------------------------------------------------------------------------------------------------

    def features(self, rows: Tensor | None = None) -> ItemFeatures:
        return item_features(positive(self.raw_items) if rows is None else self.embed(rows))

    def scores(self, shape: Shape, query: Beta, items: ItemFeatures) -> Tensor:
        """(B, N): minus the divergence, scaled, plus the bias. Higher is better."""
        return self.scored(shape, all_pairs(query, items))

    def scored(self, shape: Shape, divergence: Tensor, rows: Tensor | None = None) -> Tensor:
        scores = -divergence if self.log_scale is None else divergence * -self.log_scale.exp()
        if self.bias is None:
            return scores
        return scores + (self.bias[shape] if rows is None else embedding(rows, self.bias[shape][:, None])[..., 0])
