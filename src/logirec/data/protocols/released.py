"""The authors' split as it is, for comparison with the paper's own numbers.

Their high triplets run against the paper's rule: (i1, i2) -> i3 there means i3 -> i1 and i3 -> i2. Kept, and said.
"""

import numpy as np

from logirec.data.catalog import Catalog
from logirec.data.graph import Links, has_links
from logirec.data.protocols.triplets import Triplets, queries_of
from logirec.data.query_sets import STAGES, TEST, VALID
from logirec.data.store import Store
from logirec.data.writer import DatasetWriter
from logirec.errors import UsageError
from logirec.relation import Relation


def split(catalog: Catalog, store: Store, writer: DatasetWriter) -> None:
    low, high = (_triplets(store, kind) for kind in ("low", "high"))
    if not len(low.answer):
        raise UsageError("--protocol released needs the authors' released folder (--format released)")
    bought, viewed = catalog.links[Relation.CO_PURCHASE], catalog.links[Relation.CO_VIEW]
    every_view = np.ones(len(viewed), dtype=bool)
    given = ~catalog.held_out()
    writer.links("train", {Relation.CO_PURCHASE: given, Relation.CO_VIEW: every_view})
    for s in (VALID, TEST):
        here = low.stage == s
        order = np.lexsort((low.answer[here], low.members[here, 0]))
        asked = Links(low.members[here, 0][order], low.answer[here][order], np.ones(len(order), np.float32))
        own = has_links(asked, catalog.items, bought.source, bought.target)
        writer.links(STAGES[s], {Relation.CO_PURCHASE: own, Relation.CO_VIEW: ~every_view})
    writer.notes["direction"] = "reversed: a high-order answer links TO every member, as the authors released it"
    train = bought.where(given)
    for stage, queries in queries_of(low, train, catalog.items).items():
        writer.queries(stage, "low", queries)
    # The links behind a reversed triplet run from the answer to the members.
    for stage, queries in queries_of(high, train.reversed(), catalog.items).items():
        writer.queries(stage, "high", queries)


def _triplets(store: Store, kind: str) -> Triplets:
    second = "LEFT JOIN ids b ON t.second = b.item" if kind == "low" else "JOIN ids b ON t.second = b.item"
    rows = store.rows(
        f"""SELECT a.row, b.row, c.row, t.stage FROM raw_triplets t JOIN ids a ON t.first = a.item {second}
            JOIN ids c ON t.answer = c.item WHERE t.kind = '{kind}' ORDER BY ALL"""
    )
    members = np.array([row[:1] if kind == "low" else row[:2] for row in rows], dtype=np.int32)
    answer = np.array([row[2] for row in rows], dtype=np.int32)
    return Triplets(members, answer, np.array([STAGES.index(row[3]) for row in rows], dtype=np.int8))
