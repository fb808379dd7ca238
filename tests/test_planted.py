"""The demo shop's planted answers, found by a model that was trained as a user would train it.

One model for all of this file, so the tests are kept on one worker.
"""

import numpy as np
import pytest
import torch

from logirec.config import PrepareConfig, recipe
from logirec.data.dataset import Dataset
from logirec.data.demo_shop import DemoShop
from logirec.data.prepare import Inputs, prepare
from logirec.data.query_sets import rectangle
from logirec.demo import top_items
from logirec.fit import RunOptions, train
from logirec.index.scorer import Scorer
from logirec.model.artifact import TrainedModel
from logirec.model.logirec import Asked, Shape
from logirec.relation import Relation

pytestmark = pytest.mark.xdist_group("planted")

FAMILIES = 100


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    prepare(Inputs(), folder / "dataset", PrepareConfig())  # the demo shop, 2,000 items
    dataset = Dataset.load(folder / "dataset")
    metrics = train(dataset, folder / "model", recipe("default", "hybrid", 0, {}), RunOptions())
    trained = TrainedModel.load(folder / "model")
    return DemoShop(), trained, Scorer(trained.model), metrics


def top(world, basket, top_k):
    _, trained, scorer, _ = world
    return top_items(trained, scorer, basket, top_k)


def test_training_stops_by_itself(world):
    assert world[3]["stopped_early"]


def test_a_planted_complement_comes_first(world):
    """A head's complements are its accessories and what is for both heads; which of them leads is the data's noise."""
    shop = world[0]
    accessories = own = 0
    for single, both in zip(shop.planted_singles(FAMILIES), shop.planted_sets(FAMILIES), strict=True):
        (first,) = top(world, single.basket, 1)
        accessories += first in single.complements
        own += first in (*single.complements, *both.complements)
    assert own >= 0.95 * FAMILIES
    assert accessories >= 0.8 * FAMILIES


def test_the_reverse_direction_is_not_recommended(world):
    """An accessory does not call for its head."""
    reverse = 0
    for single in world[0].planted_singles(FAMILIES):
        reverse += single.basket[0] in top(world, single.complements[:1], 1)
    assert reverse <= 0.05 * FAMILIES


def test_substitutes_are_not_recommended(world):
    found = sum(
        item in single.substitutes
        for single in world[0].planted_singles(FAMILIES)
        for item in top(world, single.basket, 3)
    )
    assert found <= 0.03 * 3 * FAMILIES


def test_not_moves_substitutes_down(world):
    """The same model with and without AND NOT viewed together. Known ones the recommender rules out by itself."""
    shop, trained, scorer, _ = world
    better = 0
    among_ten = [0, 0]
    for single in shop.planted_singles(FAMILIES):
        row, substitutes = trained.vocabulary.rows(single.basket), trained.vocabulary.rows(single.substitutes)
        with_not = scorer.scores(rectangle(row[None]))[0]
        with torch.no_grad():
            (query,) = trained.model.ask([Asked(Shape.CO_PURCHASE, torch.from_numpy(row.astype(np.int64))[None])])
            support = trained.model.evidence.of(torch.from_numpy(row.astype(np.int64))[None])
            without = scorer.index.scores(query, Relation.CO_PURCHASE, support)[0]
        places = [scores.argsort(descending=True).argsort()[substitutes] for scores in (with_not, without)]
        better += float(places[0].float().mean()) > float(places[1].float().mean())
        among_ten = [count + int((place < 10).sum()) for count, place in zip(among_ten, places, strict=True)]
    assert better >= 0.6 * FAMILIES
    assert among_ten[0] < 0.95 * among_ten[1]


def test_a_set_finds_what_none_of_its_members_finds(world):
    together = only_together = 0
    for planted in world[0].planted_sets(FAMILIES):
        found = top(world, planted.basket, 1)[0] in planted.complements
        alone = [top(world, (item,), 1)[0] in planted.complements for item in planted.basket]
        together += found
        only_together += found and not any(alone)
    assert together >= 0.9 * FAMILIES
    assert only_together >= 0.4 * FAMILIES
