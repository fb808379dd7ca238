"""The default: unordered co-purchase pairs are split before anything is derived from them.

A pair's two directions stay together. Co-view links are context and known, unless --hide-views holds out those of
held-out pairs. Each stage's graph ends with its own links: validation is made without a look at test.
"""

from typing import Any

import numpy as np

from logirec.config import PrepareConfig
from logirec.data.catalog import Catalog
from logirec.data.graph import Links, contains, keys
from logirec.data.high_order import GROWTH, Rule, find_answers
from logirec.data.protocols.parts import TEST, TRAIN, VALID, Parts, link_keys, mix, shuffled, stages_of
from logirec.data.query_sets import STAGES, QuerySet, concatenate, low_queries
from logirec.relation import Relation


def split(catalog: Catalog, config: PrepareConfig) -> Parts:
    bought, viewed = catalog.links[Relation.CO_PURCHASE], catalog.links[Relation.CO_VIEW]
    numbers = mix(config.seed, np.minimum(bought.source, bought.target), np.maximum(bought.source, bought.target))
    stage = stages_of(numbers)
    del numbers
    view_stage = np.zeros(len(viewed), dtype=np.int8)
    if config.hide_views:
        view_stage = _stage_of_pair(viewed, bought, stage, catalog.items)
    links = {
        name: {
            Relation.CO_PURCHASE: bought.where(stage == s),
            Relation.CO_VIEW: viewed.where(view_stage == s),
        }
        for s, name in enumerate(STAGES)
    }
    parts = Parts(links, {})
    plain = catalog.complementary()
    low_links, low_stage = bought.where(plain), stage[plain]
    for s, name in enumerate(STAGES):
        low = low_queries(low_links, low_stage == s, low_stage < s)
        parts.queries[name, "low"], parts.notes[f"{name}-low"] = _sampled(low, s, config)
        parts.queries[name, "high"], parts.notes[f"{name}-high"] = high_queries(bought, stage, s, catalog.items, config)
    return parts


def _stage_of_pair(asked: Links, links: Links, stage: np.ndarray, items: int) -> np.ndarray:
    """For each asked link, the stage of its two items' pair among `links`; train where they have none."""
    found = np.zeros(len(asked), dtype=np.int8)
    for s in (VALID, TEST):
        held_out = link_keys(links.where(stage == s), items)
        forward = contains(held_out, keys(asked.source, asked.target, items))
        found[forward | contains(held_out, keys(asked.target, asked.source, items))] = s
    return found


def _sampled(queries: QuerySet, s: int, config: PrepareConfig) -> tuple[QuerySet, dict[str, Any]]:
    """Training lists all: that is no more than the links themselves."""
    found = len(queries)
    sampled = s != TRAIN and found > config.max_queries
    if sampled:
        order = np.argsort(mix(config.seed + s, queries.members.values), kind="stable")
        queries = queries.take(np.sort(order[: config.max_queries]))
    return queries, {"found": found, "listed": len(queries), "sampled": sampled}


def high_queries(
    bought: Links, stage: np.ndarray, s: int, items: int, config: PrepareConfig
) -> tuple[QuerySet, dict[str, Any]]:
    """Sets of every size asked for, at stage s.

    A connected set of n has a connected subset of n - 1 with at least its answers, so the sets of n are found by
    growing those of n - 1 that have an answer. Where there are too many, a random part is looked at and grown.
    """
    seen = stage <= s
    links = bought.where(seen)
    known = (stage[seen] < s) | (s == TRAIN)
    rule = Rule(links, known, items)
    random = np.random.default_rng([config.seed, s])
    listed: list[QuerySet] = []
    notes: dict[str, Any] = {}
    sets, whole = rule.pairs(), True
    for size in range(2, max(config.basket_sizes) + 1):
        if size > 2:
            bound = GROWTH * config.max_queries
            per_set = None if rule.ways_to_grow(sets) <= bound else max(1, bound // len(sets))
            sets, whole = rule.grow(sets, per_set, random), whole and per_set is None
        found = find_answers(rule, shuffled(sets, config.seed + s), config.max_queries, train=s == TRAIN)
        whole = whole and found.complete
        if size in config.basket_sizes:
            listed.append(found.queries)
            counts = {"candidates": len(sets), "looked_at": found.looked_at, "listed": len(found.queries)}
            notes[f"size {size}"] = {**counts, "sampled": not whole}
        sets = found.growable
    return concatenate(listed), notes
