"""For orders: links from the training orders only; a test hides one item of a later basket.

Orders are split 70/20/10 by time where there is time, at random where not. Each later basket gives one query: one
item, drawn by the seed, is hidden, the rest are the members. Baskets of one member are low queries, larger ones high.
Queries are stratified by the size of what remains: each size has its own limit of max_queries.
"""

from typing import Any

import numpy as np

from logirec.config import PrepareConfig
from logirec.data.catalog import Catalog
from logirec.data.protocols.leak_free import high_queries
from logirec.data.query_sets import (
    EMPTY,
    STAGES,
    TRAIN,
    QuerySet,
    Ragged,
    low_queries,
    missing_links,
    ragged,
    rectangle,
)
from logirec.data.store import Store
from logirec.data.writer import DatasetWriter
from logirec.errors import UsageError
from logirec.relation import Relation

MAX_MEMBERS = 50  # the largest basket that may be asked about


def split(catalog: Catalog, store: Store, config: PrepareConfig, writer: DatasetWriter) -> None:
    if catalog.order_split is None:
        raise UsageError("--protocol baskets needs order lines (--format orders)")
    writer.notes["split"] = catalog.order_split
    for s, stage in enumerate(STAGES):
        writer.links(stage, {r: np.full(len(links), s == TRAIN) for r, links in catalog.links.items()})
        baskets, number, unknown = _baskets(store, s)
        if s == TRAIN:
            writer.baskets(baskets)
            _derive_training(catalog, config, writer)
            continue
        queries, note = _hide_one(baskets, number, catalog, config)
        size = queries.members.lengths
        writer.queries(stage, "low", queries.take(np.flatnonzero(size == 1)))
        writer.queries(stage, "high", queries.take(np.flatnonzero(size > 1)))
        writer.notes[stage] = {**note, "items_not_in_training_orders": unknown}


def _derive_training(catalog: Catalog, config: PrepareConfig, writer: DatasetWriter) -> None:
    """Training queries from the training links, as in leak-free."""
    bought = catalog.links[Relation.CO_PURCHASE]
    nothing = np.zeros(len(bought), dtype=np.int8)
    writer.queries("train", "low", low_queries(bought, catalog.complementary(), nothing.astype(bool)))
    high, writer.notes["train-high"] = high_queries(bought, nothing, TRAIN, catalog.items, config)
    writer.queries("train", "high", high)


def _baskets(store: Store, s: int) -> tuple[Ragged, np.ndarray, int]:
    """The orders of a stage in time order, as rows of the catalogue, a random number for each, and lines left out.

    Training orders keep the order of their lines; a later one is a set, so that it cannot tell what was hidden."""
    within = "place, row" if s == TRAIN else "row"
    here = f"SELECT o, item, place FROM order_items JOIN order_stage USING (o) WHERE stage = {s}"
    total = store.value(f"SELECT count(*) FROM ({here})")
    found = store.columns(f"SELECT o, row FROM ({here}) JOIN ids USING (item) ORDER BY o, {within}")
    numbers, owner = np.unique(found["o"], return_inverse=True)
    drawn = store.columns("SELECT number FROM orders ORDER BY o")["number"][numbers]
    return ragged(owner, found["row"], len(numbers)), drawn, total - len(owner)


def _hide_one(
    baskets: Ragged, number: np.ndarray, catalog: Catalog, config: PrepareConfig
) -> tuple[QuerySet, dict[str, Any]]:
    fitting = (baskets.lengths >= 2) & (baskets.lengths <= MAX_MEMBERS + 1)
    counts = {
        "baskets": len(baskets),
        "of_one_known_item": int((baskets.lengths == 1).sum()),
        "of_too_many_items": int((baskets.lengths > MAX_MEMBERS + 1).sum()),
    }
    chosen = np.flatnonzero(fitting)
    number = number[chosen]
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
