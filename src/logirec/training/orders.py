"""Training queries from orders: some items of an order, and the rest of it as their answers.

As a shopper's basket is asked about, so it is learnt: how often things are bought together is in the draws.
"""

import numpy as np

from logirec.data.query_sets import QuerySet, Ragged, ragged

SIZE_SHARES = {1: 0.4, 2: 0.2, 3: 0.15, 4: 0.1, 5: 0.15}  # the last stands for all larger baskets


def order_queries(orders: Ragged, count: int, seed: int) -> QuerySet:
    """About so many, of 1 to 5 members; an order with fewer items is asked with all but one."""
    usable = np.flatnonzero(orders.lengths >= 2)
    if not len(usable):
        return _queries(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, bool), 0)
    draws = np.random.default_rng(seed)
    drawn = orders.take(usable[draws.integers(len(usable), size=count)])
    sizes = draws.choice(list(SIZE_SHARES), size=count, p=list(SIZE_SHARES.values()))
    sizes = np.minimum(sizes, drawn.lengths - 1)
    # A random order within each: the first of it are the members.
    owners = drawn.owners
    shuffled = drawn.values[np.argsort(owners + draws.random(len(owners)))]
    place = np.arange(len(owners)) - np.repeat(drawn.offsets[:-1], drawn.lengths)
    return _queries(owners, shuffled, place < np.repeat(sizes, drawn.lengths), count)


def _queries(owners: np.ndarray, values: np.ndarray, member: np.ndarray, count: int) -> QuerySet:
    members, answers = (_sorted(owners[mask], values[mask], count) for mask in (member, ~member))
    nothing = Ragged(np.zeros(count + 1, np.int32), np.empty(0, np.int32))
    return QuerySet(members, answers, np.zeros(len(answers.values), np.int8), nothing)


def _sorted(owners: np.ndarray, values: np.ndarray, count: int) -> Ragged:
    """Each list in order: as one number a place, which sorts in a tenth of the time that two take."""
    span = np.int64(values.max(initial=0)) + 1
    return ragged(owners, np.sort(owners * span + values) % span, count)
