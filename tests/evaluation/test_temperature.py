import numpy as np
import pytest
import torch

from logirec.data.query_sets import QuerySet, rectangle
from logirec.evaluation import temperature
from logirec.evaluation.evaluate import Questions
from logirec.evaluation.temperature import fitted_temperature


def asked(answers: np.ndarray, filters: np.ndarray | None = None) -> Questions:
    own = rectangle(np.zeros((len(answers), 1), dtype=int))
    hardness = np.ones(len(answers), dtype=np.int8)
    found = rectangle(answers[:, None])
    return Questions(QuerySet(own, found, hardness, own), own if filters is None else rectangle(filters))


@pytest.mark.parametrize("true", [0.5, 3.0])
def test_finds_the_temperature_that_the_answers_were_drawn_at(true):
    random = torch.Generator().manual_seed(0)
    table = torch.randn(300, 50, generator=random, dtype=torch.float64)
    table[:, 0] = -torch.inf  # an item itself is never the answer
    answers = torch.multinomial(torch.softmax(true * table, 1), 1, generator=random)[:, 0].numpy()
    found = fitted_temperature(lambda baskets: table.clone(), asked(answers), table.shape[1])
    assert found == pytest.approx(true, rel=0.3)


def test_scores_in_other_units_give_the_same_probabilities():
    random = torch.Generator().manual_seed(1)
    table = torch.randn(100, 30, generator=random)
    table[:, 0] = -torch.inf
    answers = torch.multinomial(torch.softmax(2 * table, 1), 1, generator=random)[:, 0].numpy()
    one = fitted_temperature(lambda baskets: table.clone(), asked(answers), table.shape[1])
    other = fitted_temperature(lambda baskets: 1000 * table, asked(answers), table.shape[1])
    assert 1000 * other == pytest.approx(one)


@pytest.mark.parametrize("true", [0.003, 0.02, 0.7, 4.0, 40.0])
def test_looking_nearer_where_it_is_likely_finds_what_trying_them_all_does(true):
    random = torch.Generator().manual_seed(3)
    table = torch.randn(200, 40, generator=random, dtype=torch.float64)
    table[:, 0] = -torch.inf
    answers = torch.multinomial(torch.softmax(true * table, 1), 1, generator=random)[:, 0].numpy()
    which = asked(answers)
    tile = temperature._tile(lambda baskets: table.clone(), which, np.arange(200))
    steps = temperature.STEPS / temperature._spread(iter([tile]))
    every = steps[np.argmax(temperature._likelihoods(tile, steps))]
    assert fitted_temperature(lambda baskets: table.clone(), which, 40) == pytest.approx(every)


def test_it_is_found_among_several_peaks():
    """An answer that is very unlikely costs no more the colder it gets: in the 55th and 75th of these worlds one
    peak looks higher from afar, and another is."""
    for seed in (*range(50, 60), 75):
        random = torch.Generator().manual_seed(seed)
        table = torch.randn(20, 40, generator=random, dtype=torch.float64) ** 5
        table[:, 0] = -torch.inf
        right = torch.rand(20, generator=random) < 0.9
        answers = torch.where(right, table.argmax(1), torch.randint(1, 40, (20,), generator=random)).numpy()
        tile = temperature._tile(lambda baskets, table=table: table.clone(), asked(answers), np.arange(20))
        steps = temperature.STEPS / temperature._spread(iter([tile]))
        every = steps[np.argmax(temperature._likelihoods(tile, steps))]
        found = fitted_temperature(lambda baskets, table=table: table.clone(), asked(answers), 40)
        assert found == pytest.approx(every)


def test_a_query_of_which_nothing_is_possible_says_nothing():
    """Its answer is ruled out, and all else is filtered."""
    table = torch.tensor([[-torch.inf, -torch.inf, 1.0], [-torch.inf, 2.0, 1.0], [-torch.inf, 3.0, 0.0]]).double()
    which = asked(np.array([1, 1, 1]), np.array([[0, 2], [0, 0], [0, 0]]))
    assert np.isfinite(fitted_temperature(lambda baskets: table[: len(baskets)].clone(), which, 3))


def test_tile_by_tile_it_is_the_same(monkeypatch):
    random = torch.Generator().manual_seed(2)
    table = torch.randn(40, 30, generator=random)
    table[:, 0] = -torch.inf
    answers = torch.multinomial(torch.softmax(2 * table, 1), 1, generator=random)[:, 0].numpy()
    which = Questions(
        QuerySet(
            rectangle(np.arange(40)[:, None]),
            rectangle(answers[:, None]),
            np.ones(40, np.int8),
            rectangle(answers[:, None]),
        ),
        rectangle(np.zeros((40, 1), dtype=int)),
    )
    sizes = []

    def scores(baskets):
        sizes.append(len(baskets))
        return table[torch.from_numpy(baskets.values).long()].clone()

    whole = fitted_temperature(scores, which, 30)
    sizes.clear()
    monkeypatch.setattr(temperature, "TILE", 300)
    assert fitted_temperature(scores, which, 30) == pytest.approx(whole)
    assert max(sizes) == 10


def test_what_is_filtered_out_takes_no_probability():
    """The filtered item scores best everywhere: with it, no temperature would be good."""
    table = torch.zeros(20, 30, dtype=torch.float64)
    table[:, 29], table[:, 28] = 50, 5
    answers, filters = np.full(20, 28), np.full((20, 1), 29)
    assert fitted_temperature(lambda b: table.clone(), asked(answers, filters), 30) > 5
    assert fitted_temperature(lambda b: table.clone(), asked(answers, np.full((20, 1), 0)), 30) < 1


def test_equal_scores_and_no_queries_leave_it_at_one():
    assert fitted_temperature(lambda b: torch.zeros(len(b), 5), asked(np.zeros(4, dtype=int)), 5) == 1
    assert fitted_temperature(lambda b: torch.zeros(0, 5), asked(np.zeros(0, dtype=int)), 5) == 1
