"""Any logical query as one Beta embedding: projections of items, negated where asked, intersected.

    complement(A & B) & ~substitute(A)   ->   intersection( project_cp({A, B}), negation(project_cv(A)) )

A batch of queries goes through the network together, and what several of them ask for is asked once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from logirec.logic.beta import Beta, stack
from logirec.logic.operators import negation
from logirec.model.logirec import Asked, LogiRec, Shape
from logirec.relation import Relation


class Operand(NamedTuple):
    """What is linked from a set of items along a relation, or is not."""

    relation: Relation
    rows: tuple[int, ...]  # ascending, none twice
    negated: bool = False


Meeting = tuple[Operand, ...]  # all of these at once


@torch.no_grad()
def embed_queries(model: LogiRec, queries: Sequence[Meeting]) -> Beta:
    """(B, D)."""
    wanted = sorted({(operand.relation, operand.rows) for query in queries for operand in query})
    projected = _projected(model, wanted)
    places = {key: at for at, key in enumerate(wanted)}
    result = Beta(*(part.new_empty(len(queries), part.shape[1]) for part in projected))
    for count in sorted({len(query) for query in queries}):
        mine = [at for at, query in enumerate(queries) if len(query) == count]
        operands = []
        for nth in range(count):
            chosen = [queries[at][nth] for at in mine]
            found = _take(projected, [places[operand.relation, operand.rows] for operand in chosen])
            turned = torch.tensor([operand.negated for operand in chosen], device=found.alpha.device)[:, None]
            operands.append(Beta(*(torch.where(turned, n, p) for n, p in zip(negation(found), found, strict=True))))
        met = operands[0] if count == 1 else model.intersection(stack(operands))
        for whole, part in zip(result, met, strict=True):
            whole[mine] = part
    return result


def _projected(model: LogiRec, wanted: Sequence[tuple[Relation, tuple[int, ...]]]) -> Beta:
    """Each set moved along its relation. A set has one projection to complements, and one per item to substitutes."""
    device = model.raw_items.device
    asked: list[Asked] = []
    owners: list[list[int]] = []
    for relation in Relation:
        single = [at for at, (r, rows) in enumerate(wanted) if r == relation and len(rows) == 1]
        if single:
            members = torch.tensor([wanted[at][1] for at in single], device=device)
            asked.append(Asked(Shape(int(relation)), members))
            owners.append(single)
    sets = [at for at, (r, rows) in enumerate(wanted) if r == Relation.CO_PURCHASE and len(rows) > 1]
    if sets:
        members, present = padded([wanted[at][1] for at in sets], device)
        asked.append(Asked(Shape.HIGH, members, present))
        owners.append(sets)
    views = [at for at, (r, rows) in enumerate(wanted) if r == Relation.CO_VIEW and len(rows) > 1]
    if views:
        members, present = padded([wanted[at][1] for at in views], device)
        asked.append(Asked(Shape.CO_VIEW, members.view(-1, 1)))
        owners.append(views)
    found = model.ask(asked)
    if views:
        shaped = Beta(*(part.view(*members.shape, -1) for part in found[-1]))
        found[-1] = model.intersection(shaped, present)
    order = torch.tensor([at for group in owners for at in group], device=device).argsort()
    return Beta(*(torch.cat(parts)[order] for parts in zip(*found, strict=True)))


def bought_for(query: Meeting) -> tuple[int, ...]:
    """The items whose complements are wanted: what evidence is looked up for."""
    wanted = (o.rows for o in query if o.relation == Relation.CO_PURCHASE and not o.negated)
    return tuple(sorted({row for rows in wanted for row in rows}))


def padded(lists: Sequence[tuple[int, ...]], device: torch.device) -> tuple[Tensor, Tensor]:
    """(B, M) rows filled up with zeros, and which places hold one."""
    size = max(1, *map(len, lists))
    members = torch.tensor([[*rows, *[0] * (size - len(rows))] for rows in lists], device=device)
    present = torch.tensor([[at < len(rows) for at in range(size)] for rows in lists], device=device)
    return members, present


def _take(embeddings: Beta, places: list[int]) -> Beta:
    at = torch.tensor(places, device=embeddings.alpha.device)
    return Beta(*(part[at] for part in embeddings))


@torch.no_grad()
def attention(model: LogiRec, baskets: Sequence[Sequence[int]]) -> list[list[float]]:
    """How much of a set's query each member is, by the attention of the intersections; sums to 1."""
    members, present = padded([tuple(basket) for basket in baskets], model.raw_items.device)
    basket = model.anchor(members)
    weights = inside = model.intersect.weights(basket, present).mean(-1)  # (B, M) in the summary
    if model.config.sets != "summary":
        (moved,) = model.project([model.move(Asked(Shape.HIGH, members, present), basket)])
        count, size = members.shape
        if model.config.sets == "members":
            operands = Beta(*(part.view(count, size, -1) for part in moved[0]))
            weights = model.intersect.weights(operands, present).mean(-1)
        else:
            both = (torch.cat((p[:count, None], p[count:].view(count, size, -1)), dim=1) for p in moved[0])
            there = torch.cat((present.new_ones(count, 1), present), dim=1)
            weights = model.intersect.weights(Beta(*both), there).mean(-1)
            weights = weights[:, :1] * inside + weights[:, 1:]
    return [row[: len(basket)] for row, basket in zip(weights.tolist(), baskets, strict=True)]
