"""For orders: links from the training orders only; a test hides one item of a later basket.

Orders are split 70/20/10 by time where there is time, at random where not. Each later basket gives one query: one
item, drawn by the seed, is hidden, the rest are the members. Baskets of one member are low queries, larger ones high.
Queries are stratified by the size of what remains: each size has its own limit of max_queries.
"""

from typing import Any

import numpy as np

from logirec.config import PrepareConfig
from logirec.data.catalog import Catalog
from logirec.data.graph import NO_LINKS
from logirec.data.protocols.leak_free import high_queries
from logirec.data.protocols.parts import TRAIN, Parts, mix
from logirec.data.query_sets import (
    EMPTY,
    STAGES,
    QuerySet,
    Ragged,
    low_queries,
    missing_links,
    ragged,
    rectangle,
)
from logirec.data.store import Store
from logirec.errors import UsageError
from logirec.relation import Relation

MAX_MEMBERS = 50  # the largest basket that may be asked about


def split(catalog: Catalog, store: Store, config: PrepareConfig) -> Parts:
    if catalog.order_split is None:
        raise UsageError("--protocol baskets needs order lines (--format orders)")
    bought = catalog.links[Relation.CO_PURCHASE]
    nothing = {Relation.CO_PURCHASE: NO_LINKS, Relation.CO_VIEW: NO_LINKS}
    parts = Parts({"train": dict(catalog.links), "valid": dict(nothing), "test": dict(nothing)}, {})
    parts.notes["split"] = catalog.order_split
    everything = np.ones(len(bought), dtype=bool)
    plain = catalog.complementary()
    parts.queries["train", "low"] = low_queries(bought.where(plain), everything[plain], ~everything[plain])
    parts.queries["train", "high"], parts.notes["train-high"] = high_queries(
        bought, np.zeros(len(bought), dtype=np.int8), TRAIN, catalog.items, config
    )
    for s, stage in enumerate(STAGES):
        baskets, unknown = _baskets(store, s)
        if s == TRAIN:
            parts.baskets = baskets
            continue
        queries, note = _hide_one(baskets, s, catalog, config)
        size = queries.members.lengths
        parts.queries[stage, "low"] = queries.take(np.flatnonzero(size == 1))
        parts.queries[stage, "high"] = queries.take(np.flatnonzero(size > 1))
        parts.notes[stage] = {**note, "items_not_in_training_orders": unknown}
    return parts


def _baskets(store: Store, s: int) -> tuple[Ragged, int]:
    """The orders of a stage in time order, as rows of the catalogue; and how many of their lines it does not hold."""
    here = f"order_items JOIN order_stage USING (o) WHERE stage = {s}"
    total = store.value(f"SELECT count(*) FROM {here}")
    order, row = np.empty(total, np.int64), np.empty(total, np.int32)
    at = 0
    sql = f"SELECT o, row FROM (SELECT o, item FROM {here}) JOIN ids USING (item) ORDER BY o, row"
    for batch in store.batches(sql):
        order[at : at + batch.num_rows] = batch.column(0).to_numpy()
        row[at : at + batch.num_rows] = batch.column(1).to_numpy()
        at += batch.num_rows
    numbers, owner = np.unique(order[:at], return_inverse=True)
    return ragged(owner, row[:at], len(numbers)), total - at


def _hide_one(baskets: Ragged, s: int, catalog: Catalog, config: PrepareConfig) -> tuple[QuerySet, dict[str, Any]]:
    fitting = (baskets.lengths >= 2) & (baskets.lengths <= MAX_MEMBERS + 1)
    counts = {
        "baskets": len(baskets),
        "of_one_known_item": int((baskets.lengths == 1).sum()),
        "of_too_many_items": int((baskets.lengths > MAX_MEMBERS + 1).sum()),
    }
    chosen = np.flatnonzero(fitting)
    number = mix(config.seed + s, chosen)
    kept = []
    for size in np.unique(baskets.lengths[chosen]):
        of_size = np.flatnonzero(baskets.lengths[chosen] == size)
        kept.append(of_size[np.argsort(number[of_size], kind="stable")[: config.max_queries]])
    places = np.sort(np.concatenate([np.empty(0, np.int64), *kept]))
    if not len(places):
        return EMPTY, {**counts, "listed": 0, "sampled": False}
    number, baskets = number[places], baskets.take(chosen[places])
    hidden = baskets.offsets[:-1] + (number % baskets.lengths.astype(np.uint64)).astype(np.int64)
    remains = np.ones(len(baskets.values), dtype=bool)
    remains[hidden] = False
    members = ragged(baskets.owners[remains], baskets.values[remains], len(baskets))
    answers = rectangle(baskets.values[hidden][:, None])
    hardness = missing_links(members, answers, catalog.links[Relation.CO_PURCHASE], catalog.items)
    known = Ragged(np.zeros(len(baskets) + 1, np.int64), np.empty(0, np.int32))
    sizes, per_size = np.unique(members.lengths, return_counts=True)
    counts["listed"] = len(baskets)
    by_size = {str(size): int(count) for size, count in zip(sizes, per_size, strict=True)}
    sampled = len(places) < len(chosen)
    return QuerySet(members, answers, hardness, known), {
        **counts,
        "listed_by_size": by_size,
        "sampled": sampled,
    }
