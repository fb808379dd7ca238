"""The divergence against torch.distributions, which is slow and right."""

import pytest
import torch
from torch.distributions import Beta as BetaDistribution
from torch.distributions import kl_divergence

from logirec.logic.beta import HIGHEST, LOWEST, Beta
from logirec.logic.divergence import all_pairs, item_features, pairwise


def draw(count: int, dims: int, seed: int, dtype: torch.dtype, low: float = LOWEST, high: float = HIGHEST) -> Beta:
    """Evenly over the orders of magnitude."""
    draws = torch.Generator().manual_seed(seed)
    span = torch.tensor(high / low, dtype=torch.float64)
    numbers = low * span ** torch.rand(2, count, dims, generator=draws, dtype=torch.float64)
    return Beta(*numbers.to(dtype))


def reference(items: Beta, queries: Beta) -> torch.Tensor:
    """(B, N)"""
    item = BetaDistribution(items.alpha[None].double(), items.beta[None].double())
    query = BetaDistribution(queries.alpha[:, None].double(), queries.beta[:, None].double())
    return kl_divergence(item, query).sum(-1)


@pytest.mark.parametrize("dims", [1, 7, 400])
@pytest.mark.parametrize(("low", "high"), [(LOWEST, HIGHEST), (1e-3, 1e3)])
def test_equals_torch_distributions_in_float64(dims, low, high):
    items, queries = (draw(count, dims, seed, torch.float64, low, high) for count, seed in ((50, 1), (20, 2)))
    expected = reference(items, queries)
    found = all_pairs(queries, item_features(items))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_gradients_equal_those_of_torch_distributions():
    items, queries = (draw(count, 30, seed, torch.float64) for count, seed in ((40, 3), (10, 4)))
    leaves = [t.requires_grad_() for t in (*items, *queries)]
    weight = torch.randn(10, 40, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    expected = torch.autograd.grad((reference(items, queries) * weight).sum(), leaves)
    found = torch.autograd.grad((all_pairs(queries, item_features(items)) * weight).sum(), leaves)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-9)


def test_gradient_by_hand_passes_gradcheck():
    items = draw(4, 3, 6, torch.float64)
    assert torch.autograd.gradcheck(lambda a, b: tuple(item_features(Beta(a, b))), [t.requires_grad_() for t in items])


@pytest.mark.parametrize("dims", [64, 400])
def test_float32_is_close_and_ranks_the_same(dims):
    items, queries = (draw(count, dims, seed, torch.float32) for count, seed in ((2000, 7), (50, 8)))
    expected = reference(items, queries)
    found = all_pairs(queries, item_features(items))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=0)
    assert torch.equal(found.topk(10, largest=False).indices, expected.topk(10, largest=False).indices)


def test_an_item_is_at_no_distance_from_itself():
    items = draw(30, 20, 9, torch.float64)
    found = all_pairs(items, item_features(items))
    torch.testing.assert_close(found.diagonal(), torch.zeros(30, dtype=torch.float64), rtol=0, atol=1e-9)
    assert (found + torch.eye(30) > 1e-3).all()


def test_pairwise_picks_from_all_pairs():
    items, queries = draw(30, 20, 10, torch.float64), draw(5, 20, 11, torch.float64)
    features = item_features(items)
    rows = torch.randint(30, (5, 4), generator=torch.Generator().manual_seed(12))
    expected = all_pairs(queries, features).gather(1, rows)
    own = item_features(Beta(items.alpha[rows], items.beta[rows]))
    torch.testing.assert_close(pairwise(queries, own), expected)


def test_all_bits_leaves_the_precision_as_it_was():
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        all_pairs(draw(2, 3, 13, torch.float32), item_features(draw(2, 3, 14, torch.float32)))
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision(before)
