"""Logical queries as embeddings: the shapes that were trained are special cases, and batches change nothing."""

import pytest
import torch

from logirec.logic.beta import HIGHEST, LOWEST, stack
from logirec.logic.operators import negation
from logirec.model.logirec import Asked, Shape
from logirec.model.reasoning import Operand, Reasoning
from logirec.relation import Relation
from tests.model.worlds import small_model

BUY, VIEW = Relation.CO_PURCHASE, Relation.CO_VIEW


def embed_queries(model, queries):
    return Reasoning(model, queries).of(queries)


def close(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_the_trained_shapes_are_special_cases(preset):
    model = small_model(preset)
    low = embed_queries(model, [(Operand(BUY, (4,)), Operand(VIEW, (4,), negated=True))])
    close(low, model.ask([Asked(Shape.LOW, torch.tensor([[4]]))])[0])
    high = embed_queries(model, [(Operand(BUY, (2, 5, 9)),)])
    close(high, model.ask([Asked(Shape.HIGH, torch.tensor([[2, 5, 9]]))])[0])
    for relation, shape in ((BUY, Shape.CO_PURCHASE), (VIEW, Shape.CO_VIEW)):
        close(embed_queries(model, [(Operand(relation, (7,)),)]), model.ask([Asked(shape, torch.tensor([[7]]))])[0])


def test_operands_are_negated_and_intersected():
    model = small_model()
    buy, view = (model.ask([Asked(shape, torch.tensor([[3]]))])[0] for shape in (Shape.CO_PURCHASE, Shape.CO_VIEW))
    set_ = model.ask([Asked(Shape.HIGH, torch.tensor([[1, 2]]))])[0]
    found = embed_queries(model, [(Operand(BUY, (3,), True), Operand(BUY, (1, 2)), Operand(VIEW, (3,)))])
    close(found, model.intersection(stack([negation(buy), set_, view])))


def test_substitutes_of_a_set_are_those_of_all_its_items():
    model = small_model()
    parts = [model.ask([Asked(Shape.CO_VIEW, torch.tensor([[row]]))])[0] for row in (3, 8)]
    close(embed_queries(model, [(Operand(VIEW, (3, 8)),)]), model.intersection(stack(parts)))


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_a_batch_equals_its_queries_one_by_one(preset):
    model = small_model(preset)
    queries = [
        (Operand(BUY, (4,)), Operand(VIEW, (4,), True)),
        (Operand(BUY, (2, 5, 9)),),
        (Operand(BUY, (1, 2)), Operand(VIEW, (3, 4, 5), True), Operand(VIEW, (1,), True)),
        (Operand(VIEW, (6, 7)),),
        (Operand(BUY, (2, 5, 9)), Operand(BUY, (4,))),
    ]
    together = embed_queries(model, queries)
    assert all(((part >= LOWEST) & (part <= HIGHEST)).all() for part in together)
    for at, query in enumerate(queries):
        close((part[at : at + 1] for part in together), embed_queries(model, [query]))


@pytest.mark.parametrize("sets", ["summary", "members", "both"])
def test_attention_is_shared_out_whole_and_follows_its_items(sets):
    model = small_model(sets=sets)
    three, two = (Operand(BUY, (3, 8, 11)),), (Operand(BUY, (3, 8)),)
    reasoning = Reasoning(model, [three, two])
    found = reasoning.attention(three, (3, 8, 11))
    assert sum(found) == pytest.approx(1)
    assert min(found) > 0
    third, first, second = reasoning.attention(three, (11, 3, 8))
    assert [first, second, third] == pytest.approx(found)
    assert Reasoning(model, [two]).attention(two, (3, 8)) == pytest.approx(reasoning.attention(two, (3, 8)))


def test_attention_is_that_of_the_operands_and_within_them():
    model = small_model()
    query = (Operand(BUY, (3, 8)), Operand(BUY, (8,)), Operand(VIEW, (5, 9)), Operand(VIEW, (3,), True))
    reasoning = Reasoning(model, [query, query[:1]])
    parts = [embed_queries(model, [(operand,)]) for operand in query]
    views = [embed_queries(model, [(Operand(VIEW, (row,)),)]) for row in (5, 9)]

    def shares(operands):
        looked = model.intersect.shares(model.intersect.logits(stack(operands)), torch.ones(1, len(operands)) > 0)
        return looked[0].mean(-1).tolist()

    outer, seen, inner = shares(parts), shares(views), reasoning.attention(query[:1], (3, 8))
    expected = {3: outer[0] * inner[0], 8: outer[0] * inner[1] + outer[1]}
    expected |= {5: outer[2] * seen[0], 9: outer[2] * seen[1]}
    total = sum(expected.values())
    rows = (9, 3, 5, 8)
    assert reasoning.attention(query, rows) == pytest.approx([expected[row] / total for row in rows])
