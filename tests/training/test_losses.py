import pytest
import torch
from torch.nn.functional import logsigmoid

from logirec.logic.divergence import all_pairs
from logirec.model.logirec import Shape
from logirec.relation import Relation
from logirec.training.losses import (
    Candidates,
    Scored,
    draw_candidates,
    log_sigmoid_loss,
    margin_loss,
    score,
    softmax_loss,
)
from tests.model.worlds import ITEMS, random_table, small_model


def draws(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def scored(model, table, count: int = 12, most: int = 1000, seed: int = 0) -> Scored:
    batch = table.draw(count, draws(1))
    return score(model, [batch], draw_candidates(model, most, draws(seed)), None)[0]


def test_softmax_loss_is_the_mean_log_probability_of_all_answers():
    model, table = small_model("default"), random_table(Shape.HIGH, 3)
    asked = scored(model, table)
    found = softmax_loss(model, asked, draws())
    scores = model.scored(Shape.HIGH, all_pairs(asked.query, model.features()))
    log_probability = torch.log_softmax(scores, dim=1).detach()
    total = weights = 0.0
    for row, q in zip(log_probability, asked.batch.queries.tolist(), strict=True):
        start, count = int(table.answers.starts[q]), int(table.answers.counts[q])
        weight = min(count, 50) ** 0.5
        total += weight * float(row[table.answers.values[start : start + count]].mean())
        weights += weight
    assert float(found.detach()) == pytest.approx(-total / weights, rel=1e-9)


def test_drawn_candidates_estimate_the_softmax_over_the_catalogue():
    """Each drawn item stands for N / C of the catalogue, so the mean over many draws is close to the whole."""
    model, table = small_model("default", items=400), random_table(Shape.LOW, 1, items=400)
    whole = softmax_loss(model, scored(model, table), draws()).detach()
    some = [softmax_loss(model, scored(model, table, most=200, seed=s), draws(s)) for s in range(40)]
    assert float(torch.stack(some).detach().mean()) == pytest.approx(float(whole), rel=0.02)


@pytest.mark.parametrize("whole", [True, False])
def test_true_answers_are_never_negatives(whole):
    """Catalogue of answers only: no negative is left, and the loss is that of the answers alone."""
    model, table = small_model(), random_table(Shape.LOW, 1)
    asked = scored(model, table, 1)
    batch = asked.batch
    q = int(batch.queries[0])
    answers = table.answers.values[table.answers.starts[q] : table.answers.starts[q] + table.answers.counts[q]]
    if not whole:
        asked = score(model, [batch], Candidates(answers, model.features(answers)), None)[0]
    found = log_sigmoid_loss(model, asked, draws(2), gamma=20, negatives=64)
    answer = table.answers.of(batch.queries, 1, draws(2)).rows[:, 0]
    divergence = -model.scored(Shape.LOW, all_pairs(asked.query, model.features()))[0]
    near = -logsigmoid(20 - divergence[answer[0]])
    if not whole:
        torch.testing.assert_close(found, near)
        return
    generator = draws(2)
    table.answers.of(batch.queries, 1, generator)
    drawn = torch.randint(ITEMS, (1, 64), generator=generator)[0]
    kept = torch.tensor([i not in answers.tolist() for i in drawn.tolist()])
    assert not kept.all()  # or this would test nothing
    torch.testing.assert_close(found, near - logsigmoid(divergence[drawn[kept]] - 20).mean())


def test_masked_items_are_left_out_of_the_mean_not_counted_as_zero():
    near, far = torch.tensor([1.0]), torch.tensor([[5.0, 7.0, 100.0]])
    all_three = margin_loss(near, far, torch.tensor([[True, True, True]]), torch.tensor([1]), gamma=6)
    two = margin_loss(near, far, torch.tensor([[True, True, False]]), torch.tensor([1]), gamma=6)
    torch.testing.assert_close(
        two, margin_loss(near, far[:, :2], torch.ones(1, 2, dtype=torch.bool), torch.tensor([1]), 6)
    )
    assert two > all_three


def test_softmax_gradient_pulls_answers_up_and_others_down():
    model, table = small_model("default"), random_table(Shape.LOW, 1)
    asked = scored(model, table, 1)
    loss = softmax_loss(model, asked, draws())
    (gradient,) = torch.autograd.grad(loss, model.bias)
    answers = table.are_answers(asked.batch.queries, torch.arange(ITEMS)[None])[0]
    assert gradient[Relation.CO_PURCHASE][answers].sum() < 0
    assert (gradient[Relation.CO_PURCHASE][~answers] > 0).all()
    assert (gradient[Relation.CO_VIEW] == 0).all()
