"""The model against the literal implementation, and what must not matter."""

import numpy as np
import pytest
import torch

from logirec.bench import literal
from logirec.config import MAX_BASKET, recipe
from logirec.data.query_sets import Ragged
from logirec.errors import InputError
from logirec.index.scorer import Scorer
from logirec.logic.beta import HIGHEST, LOWEST, stack
from logirec.logic.divergence import all_pairs
from logirec.model.logirec import Asked, LogiRec, Shape
from logirec.relation import Relation
from logirec.training.step import Part, step_loss
from tests.model.worlds import ITEMS, random_table, small_model


def baskets(*rows) -> Ragged:
    offsets = np.cumsum([0, *(len(row) for row in rows)])
    return Ragged(offsets, np.array([i for row in rows for i in row], dtype=np.int32))


@pytest.mark.parametrize(("shape", "size"), [(Shape.LOW, 1), (Shape.HIGH, 2), (Shape.HIGH, 5)])
def test_scores_of_the_paper_are_those_of_the_literal_equations(shape, size):
    model = small_model()
    members = random_table(shape, size).members
    query = literal.ask(model, shape, members)
    everything = torch.arange(ITEMS).expand(len(members), ITEMS)
    expected = -literal.divergence(literal.embed(model, everything), query)
    found = model.scored(shape, all_pairs(model.ask([Asked(shape, members)])[0], model.features()))
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_a_paper_step_has_the_loss_and_the_gradients_of_the_literal_equations():
    model = small_model()
    parts = [Part(random_table(Shape.LOW, 1), 16, 0.5), Part(random_table(Shape.HIGH, 2, seed=3), 16, 0.5)]
    config = recipe("paper", "hybrid", 0, {"training": {"gamma": 20, "negatives": 10}}).training
    draw = lambda: torch.Generator().manual_seed(4)  # noqa: E731
    parameters = [p for p in model.parameters() if p.requires_grad]
    fast, slow = (function(model, parts, config, draw()) for function in (step_loss, literal.step_loss))
    torch.testing.assert_close(fast, slow.to(fast.dtype), rtol=1e-9, atol=1e-9)
    for mine, theirs in zip(torch.autograd.grad(fast, parameters), torch.autograd.grad(slow, parameters), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("size", [2, 4])
def test_a_set_by_its_members_is_the_intersection_of_their_projections(size):
    model = small_model(sets="members")
    members = random_table(Shape.HIGH, size).members
    moved = [model.ask([Asked(Shape.CO_PURCHASE, members[:, [at]])])[0] for at in range(size)]
    expected = model.intersect(stack(moved))
    (found,) = model.ask([Asked(Shape.HIGH, members)])
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    present = torch.ones_like(members, dtype=torch.bool)
    present[:, -1] = False
    (fewer,) = model.ask([Asked(Shape.HIGH, members, present)])
    torch.testing.assert_close(fewer.alpha, model.ask([Asked(Shape.HIGH, members[:, :-1])])[0].alpha)


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_order_and_repeats_in_a_basket_do_not_matter(preset):
    scorer = Scorer(small_model(preset))
    one = scorer.scores(baskets([3, 7, 11], [5]))
    assert torch.equal(scorer.scores(baskets([11, 3, 7], [5])), one)
    assert torch.equal(scorer.scores(baskets([7, 7, 11, 3, 3, 7], [5, 5])), one)


@pytest.mark.parametrize("preset", ["paper", "default"])
def test_a_batch_of_any_sizes_equals_its_baskets_one_by_one(preset):
    scorer = Scorer(small_model(preset, items=60))
    rows = [[1], [2, 3], [4], list(range(MAX_BASKET)), [5, 6, 7]]
    together = scorer.scores(baskets(*rows))
    assert together.isfinite().all()
    for row, scores in zip(rows, together, strict=True):
        torch.testing.assert_close(scorer.scores(baskets(row))[0], scores, rtol=1e-9, atol=1e-9)


def test_baskets_too_large_or_empty_are_refused():
    scorer = Scorer(small_model(items=60))
    assert torch.equal(scorer.scores(baskets([3, 4] * 40)), scorer.scores(baskets([3, 4])))  # a set of two
    with pytest.raises(InputError, match="1 to 50"):
        scorer.scores(baskets(list(range(MAX_BASKET + 1))))
    with pytest.raises(InputError, match="1 to 50"):
        scorer.scores(baskets([1], []))


@pytest.mark.parametrize("preset", ["paper", "default"])
@pytest.mark.parametrize(("shape", "size"), [(Shape.LOW, 1), (Shape.CO_VIEW, 1), (Shape.HIGH, 3)])
def test_queries_stay_in_the_range(preset, shape, size):
    model = small_model(preset, item_spread=10.0)
    for parameter in model.ask([Asked(shape, random_table(shape, size).members)])[0]:
        assert (parameter >= LOWEST).all()
        assert (parameter <= HIGHEST).all()


def test_the_same_seed_gives_the_same_start():
    config = recipe("default", "hybrid", 0, {}).model
    one, two, other = (LogiRec(10, config, seed) for seed in (1, 1, 2))
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), two.parameters(), strict=True))
    assert not torch.equal(one.raw_items, other.raw_items)


def test_starts_by_ranking_popular_items_first():
    config = recipe("default", "hybrid", 0, {"model": {"item_spread": 1e-6, "scale_start": 1e-6}}).model
    model = LogiRec(ITEMS, config)
    counts = torch.arange(ITEMS)
    model.start_at_popularity(Relation.CO_PURCHASE, counts)
    scores = Scorer(model).scores(baskets([3]))
    assert torch.equal(scores[0].argsort(descending=True), counts.flip(0))
