"""The neighbours that make an item's context, from the training links."""

import numpy as np

from logirec.data.graph import ItemGraph, Links, row_starts
from logirec.model.context import Bag
from logirec.relation import Relation


def item_bags(graph: ItemGraph, most: int, seed: int) -> list[Bag]:
    """What is bought with an item, what it is bought with, what it is viewed with: at most so many of each."""
    bought = graph.links[Relation.CO_PURCHASE]
    kinds = [
        (Relation.CO_PURCHASE, bought),
        (Relation.CO_PURCHASE, bought.reversed()),
        (Relation.CO_VIEW, graph.links[Relation.CO_VIEW]),
    ]
    draws = np.random.default_rng(seed)
    return [_bag(relation, links, graph.items, most, draws) for relation, links in kinds if len(links)]


def _bag(relation: Relation, links: Links, items: int, most: int, draws: np.random.Generator) -> Bag:
    starts = row_starts(links.source, items).astype(np.int64)
    degree = np.diff(starts)
    # A random order within each item's neighbours: the first of them are a sample.
    target = links.target[np.lexsort((draws.random(len(links)), links.source))]
    place = np.arange(len(target)) - np.repeat(starts[:-1], degree)
    kept = place < most
    rows = np.zeros((items, min(most, int(degree.max()))), dtype=np.int32)
    rows[links.source[kept], place[kept]] = target[kept]
    return Bag(relation, rows, np.minimum(degree, most))
