"""Items in their context: the sum by hand, and what a training step must not see."""

import numpy as np
import pytest
import torch

from logirec.config import recipe
from logirec.data.graph import ItemGraph, Links
from logirec.index.scorer import Scorer
from logirec.model.context import Hiding
from logirec.model.logirec import LogiRec, Shape, settle
from logirec.relation import Relation
from logirec.training.bags import item_bags
from logirec.training.batches import QueryTable, link_queries
from logirec.training.losses import draw_candidates, new_hiding, score, softmax_loss
from tests.baselines.worlds import ragged_of

ITEMS = 40


def graph(seed: int = 0) -> ItemGraph:
    random = np.random.default_rng(seed)
    links = {}
    for relation in Relation:
        pairs = {(int(a), int(b)) for a, b in random.integers(ITEMS, size=(200, 2)) if a != b}
        source, target = np.array(sorted(pairs), dtype=np.int32).T
        links[relation] = Links(source, target, np.ones(len(source), np.float32))
    return ItemGraph(ITEMS, links)


def in_context(most: int = 64) -> LogiRec:
    config = recipe("default", "hybrid", 0, {"model": {"dims": 6, "width": 8}}).model
    return LogiRec(ITEMS, config, 0, item_bags(graph(), most, 0)).double()


def neighbours(links: Links, item: int) -> list[int]:
    return links.target[links.source == item].tolist()


def hiding(share: float = 0.5, salt: int = 12345) -> Hiding:
    return Hiding(torch.tensor([salt]), share)


@pytest.mark.parametrize("hidden", [None, hiding()])
def test_a_context_is_the_sum_that_its_docstring_says(hidden):
    model = in_context()
    bought, viewed = (graph().links[r] for r in Relation)
    bags = [(Relation.CO_PURCHASE, bought), (Relation.CO_PURCHASE, bought.reversed()), (Relation.CO_VIEW, viewed)]
    found = model.context(torch.arange(ITEMS), hidden).detach()
    for item in range(ITEMS):
        expected = torch.zeros(12, dtype=torch.float64)
        for (relation, links), change in zip(bags, model.context.maps, strict=True):
            seen = [
                other
                for other in neighbours(links, item)
                if hidden is None or not hidden.hides(relation, torch.tensor(item), torch.tensor(other))
            ]
            if seen:
                expected += change.weight @ model.context.table[seen].sum(0) / len(seen) ** 0.5
        torch.testing.assert_close(found[item], expected.detach())


def test_a_pair_is_hidden_both_ways_as_often_as_it_should_be_and_anew_in_each_step():
    one, other = torch.arange(500)[:, None], torch.arange(500, 1000)[None]
    for share in (0.1, 0.5):
        found = hiding(share).hides(Relation.CO_PURCHASE, one, other)
        assert torch.equal(found, hiding(share).hides(Relation.CO_PURCHASE, other, one))
        assert float(found.double().mean()) == pytest.approx(share, abs=0.01)
        for differs in (
            hiding(share, 999).hides(Relation.CO_PURCHASE, one, other),
            hiding(share).hides(Relation.CO_VIEW, one, other),
        ):
            both = float((found & differs).double().mean())
            assert both == pytest.approx(share**2, abs=0.01)  # no more than by chance
    generator = torch.Generator().manual_seed(0)
    assert new_hiding(0.5, generator).salt != new_hiding(0.5, generator).salt


def test_what_a_query_asks_for_is_not_in_its_context():
    """Nothing that is a target has a say in its own query, through whichever of its links."""
    links, model, hidden = graph(), in_context(), hiding()
    table = QueryTable(Shape.CO_PURCHASE, *link_queries(links, Relation.CO_PURCHASE), ITEMS, torch.device("cpu"))
    generator = torch.Generator().manual_seed(1)
    checked = 0
    for _ in range(30):
        batch = table.draw(1, generator)
        item = int(batch.asked.members)
        wanted = [
            other
            for other in neighbours(links.links[Relation.CO_PURCHASE], item)
            if hidden.hides(Relation.CO_PURCHASE, torch.tensor(item), torch.tensor(other))
        ]
        (query,) = model.ask([batch.asked], None, hidden)
        (slope,) = torch.autograd.grad(query.alpha.sum() + query.beta.sum(), model.context.table)
        viewed = neighbours(links.links[Relation.CO_VIEW], item)
        assert not slope[[other for other in wanted if other not in viewed]].any()
        checked += len(wanted)
    assert checked > 20


def test_known_answers_neither_are_asked_for_nor_compete():
    links, model, hidden = graph(), in_context(), hiding()
    table = QueryTable(Shape.CO_PURCHASE, *link_queries(links, Relation.CO_PURCHASE), ITEMS, torch.device("cpu"))
    generator = torch.Generator().manual_seed(2)
    batch = table.draw(12, generator)
    (asked,) = score(model, [batch], draw_candidates(model, 1000, generator), None, hidden)
    found = float(softmax_loss(model, asked, generator, hidden).detach())
    total = weights = 0.0
    for scores, item in zip(asked.scores.detach(), batch.asked.members[:, 0].tolist(), strict=True):
        answers = neighbours(links.links[Relation.CO_PURCHASE], item)
        out_of_sight = [a for a in answers if hidden.hides(Relation.CO_PURCHASE, torch.tensor(item), torch.tensor(a))]
        open_ = [i for i in range(ITEMS) if i not in answers or i in out_of_sight]
        if out_of_sight:
            probability = (scores[out_of_sight] - scores[open_].logsumexp(0)).mean()
            total += len(out_of_sight) ** 0.5 * float(probability)
            weights += len(out_of_sight) ** 0.5
    assert found == pytest.approx(-total / weights, rel=1e-9)


def test_more_neighbours_than_the_bound_are_sampled():
    links = graph()
    whole, some = item_bags(links, 64, 0), item_bags(links, 3, 0)
    for all_of_them, sample in zip(whole, some, strict=True):
        assert sample.rows.shape == (ITEMS, 3)
        for item in range(ITEMS):
            there = all_of_them.rows[item, : all_of_them.counts[item]].tolist()
            kept = sample.rows[item, : sample.counts[item]].tolist()
            assert len(set(kept)) == len(kept) == min(3, len(there))
            assert set(kept) <= set(there)


def test_what_is_kept_scores_as_what_was_trained():
    model = in_context().float()
    kept = settle(model)
    assert not any(name.startswith("context") for name in kept.state_dict())
    baskets = ragged_of([[3], [5, 9], [1, 2, 30]])
    torch.testing.assert_close(Scorer(kept).scores(baskets), Scorer(model).scores(baskets))
