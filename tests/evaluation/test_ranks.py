"""Tiled ranking against ranking one query at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from logirec.data.query_sets import Ragged, ragged
from logirec.errors import InputError
from logirec.evaluation.ranks import stand


def lists(rows: list[list[int]]) -> Ragged:
    owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return ragged(owners, np.array([v for row in rows for v in row], dtype=np.int32), len(rows))


def by_hand(scores: np.ndarray, answers: list[list[int]], filters: list[list[int]]) -> tuple[list[float], list[float]]:
    raw, filtered = [], []
    for row, mine, out in zip(scores, answers, filters, strict=True):
        for a in mine:
            others = [i for i in range(len(row)) if i != a]
            left = [i for i in others if i not in out or i in mine]
            for candidates, ranks in ((others, raw), (left, filtered)):
                better = sum(row[i] > row[a] for i in candidates)
                ties = sum(row[i] == row[a] for i in candidates)
                ranks.append(1 + better + ties / 2)
    return raw, filtered


@given(st.data())
def test_equals_counting_by_hand_for_any_tile(data):
    queries, items = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 12))
    rows = st.lists(st.integers(0, items - 1), unique=True, min_size=1, max_size=items)
    answers = data.draw(st.lists(rows, min_size=queries, max_size=queries))
    filters = data.draw(st.lists(rows | st.just([]), min_size=queries, max_size=queries))
    levels = data.draw(st.lists(st.integers(0, 4), min_size=queries * items, max_size=queries * items))
    scores = np.array(levels, dtype=np.float32).reshape(queries, items)
    table = torch.from_numpy(scores)
    baskets = Ragged(np.arange(queries + 1), np.arange(queries, dtype=np.int32))
    tile = data.draw(st.integers(1, 200))
    found = stand(lambda asked: table[asked.values].clone(), baskets, lists(answers), lists(filters), items, tile)
    raw, filtered = by_hand(scores, answers, filters)
    assert found.raw.ranks.tolist() == raw
    assert found.filtered.ranks.tolist() == filtered


def test_asks_for_no_more_scores_at_once_than_a_tile_holds():
    seen = []

    def scores(asked: Ragged) -> torch.Tensor:
        seen.append(len(asked))
        return torch.zeros(len(asked), 10)

    baskets = Ragged(np.arange(26), np.zeros(25, np.int32))
    stand(scores, baskets, baskets, lists([[] for _ in range(25)]), 10, tile=40)
    assert max(seen) == 4
    assert sum(seen) == 25


def test_filtered_items_are_gone_even_where_scores_are_minus_infinity():
    scores = torch.tensor([[1.0, 2, 3, -torch.inf, 4, 5]])
    baskets = Ragged(np.arange(2), np.zeros(1, np.int32))
    found = stand(lambda _: scores, baskets, lists([[3]]), lists([[0, 1, 2]]), 6)
    assert found.raw.ranks.tolist() == [6]
    assert found.filtered.ranks.tolist() == [3]


def test_the_scores_given_are_left_as_they_are():
    """A model may hand out one row for all, a slice of a table it keeps, or whole numbers."""
    row = torch.tensor([5, 4, 3, 2, 1])
    baskets = Ragged(np.arange(4), np.zeros(3, np.int32))
    found = stand(lambda b: row.expand(len(b), -1), baskets, lists([[4], [4], [4]]), lists([[0], [1, 2], []]), 5)
    assert found.filtered.ranks.tolist() == [4, 3, 5]
    assert row.tolist() == [5, 4, 3, 2, 1]


def test_scores_that_are_no_numbers_are_refused():
    baskets = Ragged(np.arange(2), np.zeros(1, np.int32))
    with pytest.raises(InputError, match="no numbers"):
        stand(lambda _: torch.tensor([[1.0, torch.nan]]), baskets, lists([[0]]), lists([[]]), 2)


def test_no_queries_no_ranks():
    none = lists([])
    assert len(stand(lambda _: torch.empty(0, 3), none, none, none, 3).raw.ranks) == 0


@pytest.mark.parametrize("stage", ["valid", "test"])
@pytest.mark.parametrize("kind", ["low", "high"])
def test_filters_of_a_dataset_name_known_answers_basket_and_views(leak_free, stage, kind):
    from logirec.evaluation.evaluate import questions
    from logirec.relation import Relation

    asked = questions(leak_free, stage, kind)
    views = leak_free.graph().links[Relation.CO_VIEW]
    for q in range(0, len(asked.queries), 17):
        members = asked.queries.members.list(q)
        expected = {*members.tolist(), *asked.queries.known.list(q).tolist()}
        if kind == "low":
            expected |= set(views.target[views.source == members[0]].tolist())
        assert set(asked.filters.list(q).tolist()) == expected
        assert not expected & set(asked.queries.answers.list(q).tolist())
