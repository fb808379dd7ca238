import numpy as np
import pytest
import torch

from logirec.model.logirec import Shape
from logirec.relation import Relation
from logirec.training.batches import QueryTable, link_queries, up_to
from tests.model.worlds import ITEMS, random_table


def answers_of(table: QueryTable, query: int) -> set[int]:
    start, count = int(table.answers.starts[query]), int(table.answers.counts[query])
    return set(table.answers.values[start : start + count].tolist())


def draws(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_answers_are_found_for_every_query_and_item():
    table = random_table(Shape.LOW, 1)
    queries = torch.arange(len(table))
    found = table.are_answers(queries, torch.arange(ITEMS).expand(len(table), ITEMS))
    for q in range(len(table)):
        assert set(found[q].nonzero()[:, 0].tolist()) == answers_of(table, q)


def test_one_answer_is_an_answer_and_each_gets_its_turn():
    table = random_table(Shape.LOW, 1)
    queries = torch.arange(len(table)).repeat(200)
    answer = table.answers.of(queries, 1, draws()).rows[:, 0]
    assert table.are_answers(queries, answer[:, None]).all()
    for q in range(len(table)):
        assert set(answer[queries == q].tolist()) == answers_of(table, q)


def test_targets_are_all_answers_once():
    table = random_table(Shape.LOW, 1)
    targets = table.answers.of(torch.arange(len(table)), 1000, draws())
    for q in range(len(table)):
        real = targets.rows[q][targets.real[q]].tolist()
        assert len(real) == len(set(real)) == int(targets.counts[q])
        assert set(real) == answers_of(table, q)


def test_targets_beyond_the_most_are_a_fair_part():
    table = random_table(Shape.LOW, 1)
    queries = torch.arange(len(table)).repeat(300)
    targets = table.answers.of(queries, 2, draws())
    assert targets.rows.shape[1] == 2
    for q in range(len(table)):
        assert set(targets.rows[queries == q].flatten().tolist()) == answers_of(table, q)


def test_baskets_of_several_sizes_are_filled_up_and_marked(leak_free):
    queries = leak_free.queries("train", "high")
    table = QueryTable(Shape.HIGH, queries.members, queries.answers, leak_free.items, torch.device("cpu"))
    batch = table.draw(50, draws())
    for query, row, present in zip(batch.queries, batch.asked.members, batch.asked.present, strict=True):
        assert row[present].tolist() == queries.members.list(int(query)).tolist()
    small = up_to(queries, 2)
    assert small.members.lengths.max() == 2
    assert QueryTable(Shape.HIGH, small.members, small.answers, leak_free.items, torch.device("cpu")).present is None


@pytest.mark.parametrize("relation", list(Relation))
def test_link_queries_are_the_training_links(leak_free, relation):
    links = leak_free.links("train")[relation]
    asked, answers = link_queries(leak_free.graph(), relation)
    found = {(int(asked.values[q]), int(a)) for q in range(len(asked)) for a in answers.list(q)}
    assert found == set(zip(links.source.tolist(), links.target.tolist(), strict=True))


def test_training_tables_never_hold_a_held_out_link(leak_free):
    held_out = [leak_free.links(stage)[Relation.CO_PURCHASE] for stage in ("valid", "test")]
    held_out = {p for links in held_out for p in zip(links.source.tolist(), links.target.tolist(), strict=True)}
    low = leak_free.queries("train", "low")
    pairs = set(zip(low.members.values[low.answers.owners].tolist(), low.answers.values.tolist(), strict=True))
    assert not pairs & held_out
    asked, answers = link_queries(leak_free.graph(), Relation.CO_PURCHASE)
    assert not {(int(asked.values[q]), int(a)) for q, a in zip(answers.owners, answers.values, strict=True)} & held_out
    assert np.diff(asked.offsets).max() == 1
