"""Training queries from orders: what is asked and what is answered are one order's, apart."""

import numpy as np

from logirec.data.query_sets import Ragged
from logirec.training.orders import SIZE_SHARES, order_queries


def orders(lists):
    offsets = np.cumsum([0, *map(len, lists)])
    return Ragged(offsets, np.array([item for one in lists for item in one], dtype=np.int32))


def test_members_and_answers_are_one_order_apart():
    lists = [[1, 4, 9], [2], [3, 5], [0, 1, 2, 3, 4, 5, 6, 7]]
    found = order_queries(orders(lists), 500, 0)
    whole = {tuple(one) for one in lists}
    for q in range(len(found)):
        members, answers = found.members.list(q).tolist(), found.answers.list(q).tolist()
        assert tuple(sorted(members + answers)) in whole
        assert 1 <= len(members) <= 5
        assert answers
        assert members == sorted(members)
    sizes = found.members.lengths[found.members.lengths + found.answers.lengths == 8]
    for size, share in SIZE_SHARES.items():
        assert abs((sizes == size).mean() - share) < 0.15
    assert {tuple(found.members.list(q)) for q in range(500) if len(found.answers.list(q)) == 1} >= {(3,), (5,)}


def test_the_same_seed_draws_the_same():
    made = orders([[1, 4, 9], [3, 5], [0, 1, 2, 3]])
    one, same, other = (order_queries(made, 50, seed) for seed in (1, 1, 2))
    assert one.members.values.tolist() == same.members.values.tolist()
    assert one.members.values.tolist() != other.members.values.tolist()


def test_orders_of_one_item_ask_nothing():
    assert len(order_queries(orders([[1], [2]]), 50, 0)) == 0
