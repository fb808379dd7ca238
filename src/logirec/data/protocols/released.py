"""The authors' split as it is, for comparison with the paper's own numbers.

Their high triplets run against the paper's rule: (i1, i2) -> i3 there means i3 -> i1 and i3 -> i2. Kept, and said.
"""

import numpy as np

from logirec.data.catalog import Catalog
from logirec.data.graph import NO_LINKS, Links, contains, keys, merge
from logirec.data.protocols.parts import TEST, VALID, Parts, StageLinks, Triplets, link_keys, queries_of
from logirec.data.query_sets import STAGES
from logirec.data.store import Store
from logirec.errors import UsageError
from logirec.relation import Relation


def split(catalog: Catalog, store: Store) -> Parts:
    low, high = (_triplets(store, kind) for kind in ("low", "high"))
    if not len(low.answer):
        raise UsageError("--protocol released needs the authors' released folder (--format released)")
    bought, viewed = catalog.links[Relation.CO_PURCHASE], catalog.links[Relation.CO_VIEW]
    bought_keys = link_keys(bought, catalog.items)
    train = bought.where(~catalog.held_out)
    links: StageLinks = {"train": {Relation.CO_PURCHASE: train, Relation.CO_VIEW: viewed}}
    for s in (VALID, TEST):
        asked = np.sort(keys(low.members[low.stage == s, 0], low.answer[low.stage == s], catalog.items))
        links[STAGES[s]] = {
            Relation.CO_PURCHASE: bought.where(contains(asked, bought_keys)),
            Relation.CO_VIEW: NO_LINKS,
        }
    parts = Parts(links, {})
    for stage, queries in queries_of(low, train, catalog.items).items():
        parts.queries[stage, "low"] = queries
    # The links behind a reversed triplet run from the answer to the members.
    backward = merge([Links(train.target, train.source, train.weight)])
    for stage, queries in queries_of(high, backward, catalog.items).items():
        parts.queries[stage, "high"] = queries
    forward_share, backward_share = _shares(high, bought_keys, catalog.items)
    parts.notes["direction"] = "reversed: a high-order answer links TO every member, as the authors released it"
    parts.notes["high_triplets_that_follow_the_rule"] = round(forward_share, 4)
    parts.notes["high_triplets_that_follow_it_reversed"] = round(backward_share, 4)
    return parts


def _triplets(store: Store, kind: str) -> Triplets:
    second = "LEFT JOIN ids b ON t.second = b.item" if kind == "low" else "JOIN ids b ON t.second = b.item"
    rows = store.rows(
        f"""SELECT a.row, b.row, c.row, t.stage FROM raw_triplets t JOIN ids a ON t.first = a.item {second}
            JOIN ids c ON t.answer = c.item WHERE t.kind = '{kind}' ORDER BY ALL"""
    )
    members = np.array([row[:1] if kind == "low" else row[:2] for row in rows], dtype=np.int32)
    answer = np.array([row[2] for row in rows], dtype=np.int32)
    return Triplets(members, answer, np.array([STAGES.index(row[3]) for row in rows], dtype=np.int8))


def _shares(high: Triplets, bought_keys: np.ndarray, items: int) -> tuple[float, float]:
    """Of the high triplets: members link to the answer; the answer links to the members."""
    columns = list(high.members.T)
    forward = np.all([contains(bought_keys, keys(m, high.answer, items)) for m in columns], axis=0)
    backward = np.all([contains(bought_keys, keys(high.answer, m, items)) for m in columns], axis=0)
    return float(forward.mean()), float(backward.mean())
