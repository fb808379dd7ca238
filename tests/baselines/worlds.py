"""A dataset as baselines see it, made by hand."""

from collections.abc import Iterable, Sequence

import numpy as np

from logirec.data.graph import ItemGraph, Links
from logirec.data.query_sets import Ragged
from logirec.relation import Relation


def ragged_of(lists: Iterable[Sequence[int]]) -> Ragged:
    lists = [list(each) for each in lists]
    offsets = np.cumsum([0, *map(len, lists)])
    return Ragged(offsets, np.array([row for each in lists for row in each], dtype=np.int32))


def links_of(pairs: Iterable[tuple[int, int]]) -> Links:
    pairs = sorted(set(pairs))
    source, target = (np.array([pair[at] for pair in pairs], dtype=np.int32) for at in (0, 1))
    return Links(source, target, np.ones(len(pairs), dtype=np.float32))


class World:
    def __init__(self, items, links=(), views=(), orders=None, interactions=None, backwards=False):
        self.items, self.sets_run_backwards = items, backwards
        self._links = {Relation.CO_PURCHASE: links_of(links), Relation.CO_VIEW: links_of(views)}
        self._orders, self._interactions = orders, interactions

    def graph(self) -> ItemGraph:
        return ItemGraph(self.items, self._links)

    def baskets(self) -> Ragged | None:
        return None if self._orders is None else ragged_of(self._orders)

    def lines(self) -> Ragged | None:
        return self.baskets()

    def interactions(self):
        return self._interactions


def random_links(items: int, count: int, seed: int = 0) -> list[tuple[int, int]]:
    random = np.random.default_rng(seed)
    pairs = random.integers(items, size=(count, 2))
    return [(int(a), int(b)) for a, b in pairs if a != b]


def random_orders(items: int, count: int, seed: int = 0) -> list[list[int]]:
    random = np.random.default_rng(seed)
    popular = 1 / np.arange(1, items + 1)
    return [
        sorted(random.choice(items, random.integers(1, 6), replace=False, p=popular / popular.sum()).tolist())
        for _ in range(count)
    ]
