"""What every protocol makes, and the seeded splitting they share."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from logirec.data.graph import Links, keys
from logirec.data.query_sets import (
    EMPTY,
    STAGES,
    Kind,
    QuerySet,
    Ragged,
    Stage,
    missing_links,
    ragged,
    rectangle,
)
from logirec.relation import Relation

TRAIN, VALID, TEST = range(3)
SHARES = (0.7, 0.2, 0.1)

StageLinks = dict[Stage, dict[Relation, Links]]


@dataclass
class Parts:
    links: StageLinks
    queries: dict[tuple[Stage, Kind], QuerySet]
    notes: dict[str, Any] = field(default_factory=dict)  # how it was done: sampling, direction, what was skipped
    baskets: Ragged | None = None  # training orders, for models that learn from baskets


def mix(seed: int, *columns: np.ndarray) -> np.ndarray:
    """A random 64-bit number per row that depends on the seed and the row's values alone (splitmix64, chained)."""
    state = np.full(len(columns[0]), seed, dtype=np.uint64)
    for column in columns:
        state = (state ^ column.astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state


def shuffled(rows: np.ndarray, seed: int) -> np.ndarray:
    """The rows (Q, M) in a random order that does not depend on the order they come in."""
    return rows[np.argsort(mix(seed, *rows.T), kind="stable")] if len(rows) else rows


def stages_of(numbers: np.ndarray) -> np.ndarray:
    """70/20/10 of the distinct random numbers; equal numbers (a pair's two directions) stay together."""
    distinct = np.unique(numbers)
    cuts = round(SHARES[0] * len(distinct)), round((SHARES[0] + SHARES[1]) * len(distinct))
    bounds = [distinct[cut] if cut < len(distinct) else np.iinfo(np.uint64).max for cut in cuts]
    return (numbers >= bounds[0]).astype(np.int8) + (numbers >= bounds[1])


def link_keys(links: Links, items: int) -> np.ndarray:
    return keys(links.source, links.target, items)


class Triplets(NamedTuple):
    """Answers split one by one."""

    members: np.ndarray  # (T, M)
    answer: np.ndarray  # (T,)
    stage: np.ndarray  # (T,)


def queries_of(triplets: Triplets, train: Links, items: int) -> dict[Stage, QuerySet]:
    """One query per basket and stage. Known at a stage: the same basket's answers of earlier stages."""
    members, answer, stage = triplets
    if not len(answer):
        return dict.fromkeys(STAGES, EMPTY)
    baskets, query = np.unique(members, axis=0, return_inverse=True)
    query = query.reshape(-1)
    order = np.lexsort((answer, query))
    query, answer, stage = query[order], answer[order], stage[order]
    out: dict[Stage, QuerySet] = {}
    for s, name in enumerate(STAGES):
        asked = np.unique(query[stage == s])
        number = np.full(len(baskets), -1)
        number[asked] = np.arange(len(asked))
        here, before = stage == s, (stage < s) & (number[query] >= 0)
        basket_lists = rectangle(baskets[asked])
        answer_lists = ragged(number[query[here]], answer[here], len(asked))
        out[name] = QuerySet(
            basket_lists,
            answer_lists,
            missing_links(basket_lists, answer_lists, train, items),
            ragged(number[query[before]], answer[before], len(asked)),
        )
    return out
