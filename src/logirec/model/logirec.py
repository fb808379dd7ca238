"""LogiRec: item embeddings, the queries that can be asked of them, and their scores."""

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import embedding

from logirec.config import ModelConfig
from logirec.logic.beta import Beta, positive, stack, within_range
from logirec.logic.divergence import ItemFeatures, item_features
from logirec.logic.operators import Intersection, Move, Projection, negation
from logirec.model.context import Bag, Context, Hiding
from logirec.model.evidence import Evidence
from logirec.model.tensors import slices
from logirec.relation import Relation


class Shape(IntEnum):
    """Shapes of query."""

    CO_PURCHASE = 0  # what is bought with the item
    CO_VIEW = 1  # what is looked at with the item
    LOW = 2  # bought with the item and not a substitute of it
    HIGH = 3  # what a set of items calls for

    @property
    def relation(self) -> Relation:
        """What an answer is to the items asked about."""
        return Relation.CO_VIEW if self == Shape.CO_VIEW else Relation.CO_PURCHASE


class Asked(NamedTuple):
    """Queries of one shape."""

    shape: Shape
    members: Tensor  # (B, M) rows of the baskets; M = 1 but for HIGH
    present: Tensor | None = None  # (B, M) which places hold an item; None: all


class LogiRec(nn.Module):
    anchors: Tensor | None

    def __init__(self, items: int, config: ModelConfig, seed: int | None = 0, bags: Sequence[Bag] = ()) -> None:
        """With bags, what is asked about is seen in its context; without, as `settle` has left it.

        `seed` None: parameters are not filled, since they will be loaded.
        """
        super().__init__()
        self.config = config
        d = config.dims
        self.raw_items = nn.Parameter(torch.empty(items, 2 * d))
        self.project = Projection(d, config.width, config.layers, len(Relation), config.dropout)
        self.intersect = Intersection(d)
        self.context = Context(items, d, bags) if config.context and bags else None
        # Items as they are asked about, where that differs from how they are found.
        settled = torch.zeros(items, 2 * d) if config.context and not bags else None
        self.register_buffer("anchors", settled)
        self.bias = nn.Parameter(torch.empty(len(Relation), items)) if config.item_bias else None
        self.log_scale = nn.Parameter(torch.empty(())) if config.temperature else None
        self.evidence: Evidence | None = None  # comes after training
        if seed is not None:
            self.reset(seed)

    @torch.no_grad()
    def reset(self, seed: int) -> None:
        """Fresh parameters, the same for the same seed on every device."""
        draws = torch.Generator().manual_seed(seed)

        def fill(parameter: Tensor, bound: float) -> None:
            parameter.copy_(torch.empty(parameter.shape).uniform_(-bound, bound, generator=draws))

        fill(self.raw_items, self.config.item_spread)
        fill(self.project.relation, self.config.item_spread)
        if self.context is not None:
            fill(self.context.table, self.config.item_spread)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                fan = sum(module.weight.shape)
                fill(module.weight, (6 / fan) ** 0.5)  # Glorot
                if module.bias is not None:
                    module.bias.zero_()
        if self.anchors is not None:
            self.anchors.copy_(self.raw_items)
        if self.bias is not None:
            self.bias.zero_()
        if self.log_scale is not None:
            self.log_scale.fill_(self.config.scale_start).log_()

    @torch.no_grad()
    def start_at_popularity(self, relation: Relation, counts: Tensor) -> None:
        """Before it has learnt anything, the model ranks items by how many links lead to them."""
        if self.bias is not None:
            popularity = torch.log1p(counts.to(self.bias))
            self.bias[relation] = popularity - popularity.mean()

    @property
    def items(self) -> int:
        return len(self.raw_items)

    def embed(self, rows: Tensor) -> Beta:
        """Items as they are found."""
        return positive(embedding(rows, self.raw_items))

    def anchor(self, rows: Tensor, hiding: Hiding | None = None) -> Beta:
        """Items as they are asked about: in their context, where there is one."""
        if self.anchors is not None:
            return positive(embedding(rows, self.anchors))
        if self.context is None:
            return self.embed(rows)
        return positive(embedding(rows, self.raw_items) + self.context(rows.flatten(), hiding).view(*rows.shape, -1))

    # Queries ----------------------------------------------------------------------------------------------------

    def ask(self, asked: Sequence[Asked], draws: Generator | None = None, hiding: Hiding | None = None) -> list[Beta]:
        """Queries of any shapes, in one pass of the projection. `draws` and `hiding` are given while training."""
        places = [a.members.numel() for a in asked]
        items = self.anchor(torch.cat([a.members.flatten() for a in asked]), hiding)
        parts = map(Beta, items.alpha.split_with_sizes(places), items.beta.split_with_sizes(places))
        baskets = [Beta(*(p.view(*a.members.shape, -1) for p in part)) for a, part in zip(asked, parts, strict=True)]
        moves = [self.move(a, basket) for a, basket in zip(asked, baskets, strict=True)]
        moved = self.project(moves, draws)
        return [self._combine(a, result) for a, result in zip(asked, moved, strict=True)]

    def move(self, asked: Asked, basket: Beta) -> Move:
        """What the projection is asked for: of a set its summary by attention, its members, or both."""
        if asked.shape == Shape.HIGH:
            parts = []
            if self.config.sets != "members":
                parts.append(self.intersection(basket, asked.present))
            if self.config.sets != "summary":
                parts.append(Beta(*(p.flatten(0, 1) for p in basket)))
            return Move(Beta(*map(torch.cat, zip(*parts, strict=True))), (Relation.CO_PURCHASE,))
        anchors = Beta(*(p[:, 0] for p in basket))
        if asked.shape == Shape.LOW:
            return Move(anchors, (Relation.CO_PURCHASE, Relation.CO_VIEW))
        return Move(anchors, (Relation(int(asked.shape)),))

    def _combine(self, asked: Asked, moved: list[Beta]) -> Beta:
        if asked.shape == Shape.LOW:
            bought, viewed = moved
            return self.intersection(stack([bought, negation(viewed)]))
        if asked.shape == Shape.HIGH and self.config.sets != "summary":
            count, size = asked.members.shape
            present = asked.present
            if self.config.sets == "members":
                return self.intersection(Beta(*(p.view(count, size, -1) for p in moved[0])), present)
            summary_first = [torch.cat((p[:count, None], p[count:].view(count, size, -1)), dim=1) for p in moved[0]]
            if present is not None:
                present = torch.cat((present.new_ones(count, 1), present), dim=1)
            return self.intersection(Beta(*summary_first), present)
        return moved[0]

    def intersection(self, operands: Beta, present: Tensor | None = None) -> Beta:
        """Weights that sum to 1.0000001 must not leave the range."""
        alpha, beta = self.intersect(operands, present)
        return Beta(within_range(alpha), within_range(beta))

    # Scores -----------------------------------------------------------------------------------------------------

    def features(self, rows: Tensor | None = None) -> ItemFeatures:
        return item_features(positive(self.raw_items) if rows is None else self.embed(rows))

    def scored(self, shape: Shape, divergence: Tensor, rows: Tensor | None = None) -> Tensor:
        """Minus the divergence, scaled, plus the bias: higher is better."""
        scores = -divergence if self.log_scale is None else divergence * -self.log_scale.exp()
        if self.bias is None:
            return scores
        bias = self.bias[shape.relation]
        return scores + (bias if rows is None else embedding(rows, bias[:, None])[..., 0])


@torch.no_grad()
def settle(model: LogiRec) -> LogiRec:
    """A copy of the model as it is kept: contexts made once for all items, not what they were made of."""
    weights = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith("context.")}
    if model.context is not None:
        rows = torch.arange(model.items, device=model.raw_items.device)
        contexts = [model.context(rows[part]) for part in slices(model.items)]
        weights["anchors"] = model.raw_items + torch.cat(contexts)
    settled = LogiRec(model.items, model.config, seed=None).to(model.raw_items)
    settled.load_state_dict(weights)
    return settled
