"""The default: unordered co-purchase pairs are split before anything is derived from them.

A pair's two directions stay together. Co-view links are context and known, unless --hide-views holds out those of
held-out pairs. Each stage's graph ends with its own links: validation is made without a look at test.

cold-items is the same with a split of the items: a link belongs to the later stage of its two items, so that the items
of validation and test have no link before.
"""

from typing import Any

import numpy as np

from logirec.config import PrepareConfig
from logirec.data.catalog import Catalog
from logirec.data.graph import Links, has_links
from logirec.data.high_order import GROWTH, Rule, find_answers
from logirec.data.query_sets import STAGES, TEST, TRAIN, VALID, QuerySet, concatenate, low_queries
from logirec.data.seeded import mix, shuffled, split_stages
from logirec.data.writer import DatasetWriter
from logirec.relation import Relation

COLD = {VALID: 0.05, TEST: 0.05}


def split(catalog: Catalog, config: PrepareConfig, writer: DatasetWriter) -> None:
    bought, viewed = catalog.links[Relation.CO_PURCHASE], catalog.links[Relation.CO_VIEW]
    if config.protocol == "cold-items":
        items = _stage_of_items(catalog.items, config.seed)
        stage, view_stage = (np.maximum(items[links.source], items[links.target]) for links in (bought, viewed))
    else:
        stage = split_stages(len(bought), lambda part: _pair_numbers(bought, part, config.seed))
        view_stage = np.zeros(len(viewed), dtype=np.int8)
    if config.hide_views:
        view_stage = _stage_of_pair(viewed, bought, stage, catalog.items)
    for s, name in enumerate(STAGES):
        writer.links(name, {Relation.CO_PURCHASE: stage == s, Relation.CO_VIEW: view_stage == s})
    plain = catalog.complementary()
    for s, name in enumerate(STAGES):
        low, writer.notes[f"{name}-low"] = _low_queries(bought, plain, stage, s, config)
        writer.queries(name, "low", low)
        del low  # a large catalogue's fills memory
    for s, name in enumerate(STAGES):
        high, writer.notes[f"{name}-high"] = high_queries(bought, stage, s, catalog.items, config)
        writer.queries(name, "high", high)


def _stage_of_items(items: int, seed: int) -> np.ndarray:
    """10 % of them are cold, half of those for validation, half for test."""
    order = np.argsort(mix(seed, "split items", np.arange(items)), kind="stable")
    stage = np.zeros(items, dtype=np.int8)
    for s, share in COLD.items():
        count = round(share * items)
        stage[order[:count]], order = s, order[count:]
    return stage


def _pair_numbers(links: Links, part: slice, seed: int) -> np.ndarray:
    source, target = links.source[part], links.target[part]
    return mix(seed, "split pairs", np.minimum(source, target), np.maximum(source, target))


def _stage_of_pair(asked: Links, links: Links, stage: np.ndarray, items: int) -> np.ndarray:
    """For each asked link, the stage of its two items' pair among `links`; train where they have none."""
    found = np.zeros(len(asked), dtype=np.int8)
    for s in (VALID, TEST):
        held_out = links.where(stage == s)
        forward = has_links(held_out, items, asked.source, asked.target)
        found[forward | has_links(held_out, items, asked.target, asked.source)] = s
    return found


def _low_queries(
    bought: Links, plain: np.ndarray, stage: np.ndarray, s: int, config: PrepareConfig
) -> tuple[QuerySet, dict[str, Any]]:
    """Training lists all: that is no more than the links themselves."""
    queries = low_queries(bought, plain & (stage == s), plain & (stage < s))
    found = len(queries)
    sampled = s != TRAIN and found > config.max_queries
    if sampled:
        order = np.argsort(mix(config.seed, f"sample low {s}", queries.members.values), kind="stable")
        queries = queries.take(np.sort(order[: config.max_queries]))
    return queries, {"found": found, "listed": len(queries), "sampled": sampled}


def high_queries(
    bought: Links, stage: np.ndarray, s: int, items: int, config: PrepareConfig
) -> tuple[QuerySet, dict[str, Any]]:
    """Sets of every size asked for, at stage s.

    A connected set of n has a connected subset of n - 1 with at least its answers, so the sets of n are found by
    growing those of n - 1 that have an answer, each from one of its subsets only. Where there are too many, a random
    part is looked at and grown, every set with the same chance.
    """
    held_out = (stage == s) & (s != TRAIN)
    rule = Rule(bought, (stage <= s) & ~held_out, held_out, items)
    random = np.random.default_rng([config.seed, s])
    limit = config.max_queries
    listed: list[QuerySet] = []
    notes: dict[str, Any] = {}
    candidates, parts, whole = rule.count_pairs(), rule.pairs(config.seed, f"sample pairs {s}", at_once=4 * limit), True
    for size in range(2, max(config.basket_sizes) + 1):
        found = find_answers(rule, parts, size, limit, train=s == TRAIN)
        whole = whole and found.complete
        if size in config.basket_sizes:
            listed.append(found.queries)
            counts = {"candidates": candidates, "looked_at": found.looked_at, "listed": len(found.queries)}
            notes[f"size {size}"] = {**counts, "sampled": not whole}
        if size < max(config.basket_sizes):
            share = min(1.0, GROWTH * limit / max(1, rule.ways_to_grow(found.growable)))
            grown = shuffled(rule.grow(found.growable, share, random), config.seed, f"sample sets {s}")
            candidates, parts, whole = len(grown), iter([grown]), whole and share == 1
    return concatenate(listed), notes
