import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logirec.logic.beta import HIGHEST, LOWEST, Beta, positive, stack, within_range
from logirec.logic.operators import Intersection, Move, Projection, negation


def raw(*shape: int, seed: int = 0, spread: float = 5.0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * spread


def in_range(embedding: Beta) -> bool:
    return all(bool(((p >= LOWEST) & (p <= HIGHEST)).all()) for p in embedding)


@given(st.floats(-1e6, 1e6, width=32))
def test_any_number_becomes_a_parameter_in_the_range_and_its_negation_too(number):
    embedding = positive(torch.tensor([number, -number]))
    assert in_range(embedding)
    assert in_range(Beta(*(within_range(p) for p in negation(embedding))))
    for p, q in zip(embedding, negation(embedding), strict=True):
        torch.testing.assert_close(q, q.clamp(LOWEST, HIGHEST), rtol=1e-6, atol=0)
        torch.testing.assert_close(1 / q, p)


def test_within_range_has_the_gradient_of_clamp():
    numbers = raw(100).requires_grad_()
    (expected,) = torch.autograd.grad(numbers.clamp(LOWEST, HIGHEST).sum(), numbers)
    (found,) = torch.autograd.grad(within_range(numbers).sum(), numbers)
    assert torch.equal(found, expected)


def test_projection_along_two_relations_at_once_equals_one_by_one():
    torch.manual_seed(0)
    project = Projection(dims=6, width=16, layers=2, relations=2)
    torch.nn.init.normal_(project.relation)
    items = positive(raw(5, 12))
    (both,) = project([Move(items, (0, 1))])
    for relation in (0, 1):
        ((alone,),) = project([Move(items, (relation,))])
        for x, y in zip(both[relation], alone, strict=True):
            torch.testing.assert_close(x, y)
    assert not torch.allclose(both[0].alpha, both[1].alpha)
    assert all(in_range(b) for b in both)


def test_dropout_happens_only_when_draws_are_given_and_repeats_with_the_seed():
    torch.manual_seed(0)
    project = Projection(dims=6, width=64, layers=1, relations=1, dropout=0.5)
    torch.nn.init.normal_(project.relation)
    items = positive(raw(5, 12))

    def moved(seed: int | None) -> torch.Tensor:
        draws = None if seed is None else torch.Generator().manual_seed(seed)
        return project([Move(items, (0,))], draws)[0][0].alpha

    assert torch.equal(moved(1), moved(1))
    assert not torch.equal(moved(1), moved(2))
    assert torch.equal(moved(None), moved(None))


def test_many_moves_in_one_pass_equal_each_alone():
    torch.manual_seed(0)
    project = Projection(dims=6, width=16, layers=2, relations=3)
    torch.nn.init.normal_(project.relation)
    moves = [Move(positive(raw(n, 12, seed=n)), relations) for n, relations in ((3, (0,)), (5, (2, 1)), (1, (1,)))]
    for move, together in zip(moves, project(moves), strict=True):
        (alone,) = project([move])
        assert len(together) == len(move.relations)
        for one, two in zip(together, alone, strict=True):
            torch.testing.assert_close(one.alpha, two.alpha)
            torch.testing.assert_close(one.beta, two.beta)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 50])
def test_intersection_ignores_the_order_of_its_operands(count):
    torch.manual_seed(1)
    intersect = Intersection(8)
    operands = positive(raw(4, count, 16))
    order = torch.randperm(count)
    found, shuffled = intersect(operands), intersect(Beta(*(p[:, order] for p in operands)))
    for x, y in zip(found, shuffled, strict=True):
        torch.testing.assert_close(x, y)
    weights = intersect.weights(operands)
    torch.testing.assert_close(weights.sum(1), torch.ones(4, 8))
    for mean, each in zip(found, operands, strict=True):
        assert (mean <= each.amax(1) * 1.00001).all()
        assert (mean >= each.amin(1) * 0.99999).all()


def test_intersection_of_one_is_itself():
    intersect = Intersection(8)
    operands = positive(raw(4, 1, 16))
    for x, y in zip(intersect(operands), operands, strict=True):
        torch.testing.assert_close(x, y[:, 0])


def test_places_that_are_not_present_have_no_say():
    intersect = Intersection(8)
    operands = positive(raw(1, 5, 16))
    present = torch.tensor([[True, False, True, False, False]])
    alone = intersect(Beta(*(p[:, [0, 2]] for p in operands)))
    for x, y in zip(intersect(operands, present), alone, strict=True):
        torch.testing.assert_close(x, y)


def test_stack_puts_operands_side_by_side():
    one, two = positive(raw(3, 4, seed=1)), positive(raw(3, 4, seed=2))
    assert torch.equal(stack([one, two]).beta[:, 1], two.beta)
