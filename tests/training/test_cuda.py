"""What is only so on a GPU: a captured step, replayed. Needs nothing but torch and pytest (`pytest --noconftest`)."""

import math

import numpy as np
import pytest
import torch

from logirec.config import recipe
from logirec.model.context import Bag
from logirec.model.logirec import LogiRec, Shape
from logirec.relation import Relation
from logirec.training import step
from logirec.training.step import Part, Stepper
from tests.model.worlds import ITEMS, random_table

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
STEPS = 12


def random_bags() -> list[Bag]:
    random = np.random.default_rng(3)
    rows = random.integers(0, ITEMS, (ITEMS, 5))
    return [Bag(relation, rows, random.integers(0, 6, ITEMS)) for relation in Relation]


def new_stepper(preset: str) -> Stepper:
    made = recipe(preset, "hybrid", 0, {"model": {"dims": 8, "width": 16, "item_spread": 0.2}})
    tables = [random_table(Shape.LOW, 1, device="cuda"), random_table(Shape.HIGH, 3, device="cuda")]
    model = LogiRec(ITEMS, made.model, 0, random_bags() if made.model.context else ()).to("cuda")
    return Stepper(model, [Part(table, 16, 0.5) for table in tables], made.training, seed=0)


def weights_after(stepper: Stepper, steps: range) -> list[torch.Tensor]:
    for number in steps:
        stepper.take(number)
    return [p.detach().clone() for p in stepper.model.parameters()]


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_a_replayed_step_does_what_an_eager_one_does(monkeypatch, preset):
    replayed = new_stepper(preset)
    weights = weights_after(replayed, range(STEPS))
    assert replayed._graph is not None
    monkeypatch.setattr(step, "EAGER_STEPS", math.inf)
    eager = new_stepper(preset)
    for ours, theirs in zip(weights, weights_after(eager, range(STEPS)), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    assert eager._graph is None
    torch.testing.assert_close(replayed.loss_sum, eager.loss_sum, rtol=1e-4, atol=0)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_a_restored_run_goes_where_the_whole_one_went(preset):
    whole = weights_after(new_stepper(preset), range(STEPS))
    first = new_stepper(preset)
    weights_after(first, range(STEPS - 3))
    second = new_stepper(preset)
    second.restore({name: tensor.cpu() for name, tensor in first.tensors().items()})
    for ours, theirs in zip(weights_after(second, range(STEPS - 3, STEPS)), whole, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_weights_move_on_every_replay():
    stepper = new_stepper("default")
    before = weights_after(stepper, range(STEPS))[0]
    assert not torch.equal(before, weights_after(stepper, range(STEPS, STEPS + 1))[0])
