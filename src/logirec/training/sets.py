"""Baskets of 2 to 5 items made from the training links, beside the sets that the dataset lists.

A basket is drawn from the items that link to one common target, so it has an answer; its answers are all items that
every member links to.
"""

import numpy as np

from logirec.data.graph import ItemGraph, Links, matrix, row_starts
from logirec.data.query_sets import EMPTY, QuerySet, Ragged, concatenate, rectangle
from logirec.relation import Relation

SIZE_SHARES = {2: 0.5, 3: 0.25, 4: 0.125, 5: 0.125}


def drawn_sets(graph: ItemGraph, count: int, seed: int) -> QuerySet:
    """About so many; fewer where few items have enough links."""
    links = graph.links[Relation.CO_PURCHASE]
    into = links.reversed()  # sorted by target: the sources of an item stand together
    starts = row_starts(into.source, graph.items)
    draws = np.random.default_rng(seed)
    parts = [
        _of_size(graph.items, links, into, starts, size, int(count * share), draws)
        for size, share in SIZE_SHARES.items()
    ]
    return concatenate(parts) if any(len(part) for part in parts) else EMPTY


def _of_size(
    items: int, links: Links, into: Links, starts: np.ndarray, size: int, count: int, draws: np.random.Generator
) -> QuerySet:
    sources = np.diff(starts)
    eligible = np.flatnonzero(sources[into.source] >= size)  # links to items that have enough of them
    if not len(eligible) or not count:
        return EMPTY
    target = into.source[eligible[draws.integers(len(eligible), size=count)]]
    # `size` sources of the target with replacement; the baskets with a repeat are dropped.
    at = starts[target][:, None] + (draws.random((count, size)) * sources[target][:, None]).astype(np.int64)
    members = np.sort(into.target[at], axis=1)
    members = np.unique(members[(np.diff(members, axis=1) > 0).all(axis=1)], axis=0)
    linked = matrix(links, items)
    common = linked[members[:, 0]]
    for column in members.T[1:]:
        common = common.multiply(linked[column])
    common = common.tocsr()
    common.sort_indices()
    answers = Ragged(common.indptr, common.indices.astype(np.int32))
    nothing = Ragged(np.zeros(len(members) + 1, np.int32), np.empty(0, np.int32))
    return QuerySet(rectangle(members), answers, np.zeros(len(answers.values), np.int8), nothing)
