"""The paper's equations written down one by one with torch.distributions.

Slow and obvious. The tests hold the fast model against it, the benchmark measures the fast model by it.
It uses the fast model's parameters, so that both compute the same numbers.
"""

import torch
from torch import Generator, Tensor
from torch.distributions import Beta as BetaDistribution
from torch.distributions import kl_divergence
from torch.nn.functional import logsigmoid

from logirec.config import TrainConfig
from logirec.logic.beta import HIGHEST, LOWEST
from logirec.model.logirec import LogiRec, Shape
from logirec.relation import Relation
from logirec.training.step import Part

Embedding = tuple[Tensor, Tensor]  # alpha, beta


def embed(model: LogiRec, rows: Tensor) -> Embedding:
    d = model.config.dims
    parameters = torch.clamp(model.raw_items[rows] + 1, LOWEST, HIGHEST)
    return parameters[..., :d], parameters[..., d:]


def project(model: LogiRec, embedding: Embedding, relation: Relation) -> Embedding:
    d, net = model.config.dims, model.project
    along = net.relation[int(relation)].expand(*embedding[0].shape[:-1], d)
    first = torch.cat([net.enter.weight, net.enter_relation.weight], dim=1)  # one matrix on (alpha, beta, relation)
    x = torch.relu(torch.cat([*embedding, along], dim=-1) @ first.T + net.enter.bias)
    for layer in net.hidden:
        x = torch.relu(layer(x))
    out = torch.clamp(net.leave(x) + 1, LOWEST, HIGHEST)
    return out[..., :d], out[..., d:]


def negate(embedding: Embedding) -> Embedding:
    return 1 / embedding[0], 1 / embedding[1]


def intersect(model: LogiRec, operands: list[Embedding]) -> Embedding:
    net = model.intersect
    logits = torch.stack([net.attend(torch.relu(net.hidden(torch.cat(operand, dim=-1)))) for operand in operands])
    weights = torch.softmax(logits, dim=0)
    alpha = sum(w * operand[0] for w, operand in zip(weights, operands, strict=True))
    beta = sum(w * operand[1] for w, operand in zip(weights, operands, strict=True))
    return torch.as_tensor(alpha), torch.as_tensor(beta)


def ask(model: LogiRec, shape: Shape, members: Tensor) -> Embedding:
    """Baskets (B, M), all full."""
    items = [embed(model, column) for column in members.T]
    if shape == Shape.LOW:
        bought = project(model, items[0], Relation.CO_PURCHASE)
        return intersect(model, [bought, negate(project(model, items[0], Relation.CO_VIEW))])
    return project(model, intersect(model, items), Relation.CO_PURCHASE)


def divergence(items: Embedding, query: Embedding) -> Tensor:
    """KL(item ; query), summed over dimensions; items (B, M, D), queries (B, D)."""
    q = BetaDistribution(query[0][:, None], query[1][:, None], validate_args=False)
    return kl_divergence(BetaDistribution(*items, validate_args=False), q).sum(-1)


def loss(
    model: LogiRec,
    shape: Shape,
    members: Tensor,
    answer: Tensor,
    drawn: Tensor,
    negative: Tensor,
    counts: Tensor,
    gamma: float,
) -> Tensor:
    query = ask(model, shape, members)
    near = divergence(embed(model, answer[:, None]), query)[:, 0]
    far = divergence(embed(model, drawn), query)
    pushed = torch.where(negative, logsigmoid(far - gamma), 0).sum(1) / negative.sum(1).clamp(min=1)
    weight = 1 / torch.sqrt(4 + counts.to(near.dtype))
    return -((logsigmoid(gamma - near) + pushed) * weight).sum() / weight.sum()


def step_loss(model: LogiRec, parts: list[Part], config: TrainConfig, draws: Generator) -> Tensor:
    """The same draws as the fast step makes, the same loss."""
    total = torch.zeros((), device=draws.device)
    batches = [part.table.draw(part.count, draws) for part in parts]
    for part, batch in zip(parts, batches, strict=True):
        answer = part.table.answers.of(batch.queries, 1, draws).rows[:, 0]
        drawn = torch.randint(model.items, (part.count, config.negatives), generator=draws, device=draws.device)
        negative = ~part.table.are_answers(batch.queries, drawn)
        counts = part.table.answers.counts[batch.queries]
        found = loss(model, part.table.shape, batch.asked.members, answer, drawn, negative, counts, config.gamma)
        total = total + part.weight * found
    return total
