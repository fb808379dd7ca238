"""What the paper's text says: low triplets and high triplets, each split at random. It leaks; `audit` shows how.

The pairs of high triplets are drawn from the whole graph, so a training link can be half of a test answer, and the
reverse of a test link can be in training.
"""

import numpy as np

from logirec.config import PrepareConfig
from logirec.data.catalog import Catalog
from logirec.data.high_order import Rule, find_answers
from logirec.data.protocols.triplets import Triplets, queries_of
from logirec.data.query_sets import STAGES, TRAIN
from logirec.data.seeded import mix, split_stages
from logirec.data.writer import DatasetWriter
from logirec.relation import Relation


def split(catalog: Catalog, config: PrepareConfig, writer: DatasetWriter) -> None:
    bought, viewed = catalog.links[Relation.CO_PURCHASE], catalog.links[Relation.CO_VIEW]
    plain = catalog.complementary()
    low = _split_triplets(bought.source[plain][:, None], bought.target[plain], config.seed, "split low")
    stage = np.zeros(len(bought), dtype=np.int8)  # links that are co-views too are no answers: training keeps them
    stage[plain] = low.stage

    everything = np.ones(len(bought), dtype=bool)
    rule = Rule(bought, everything, ~everything, catalog.items)
    pairs = rule.pairs(config.seed, "sample pairs", at_once=4 * config.max_queries)
    found = find_answers(rule, pairs, 2, config.max_queries, train=True)
    members = found.queries.members.values.reshape(-1, 2)[found.queries.answers.owners]
    high = _split_triplets(members, found.queries.answers.values, config.seed, "split high")

    for s, name in enumerate(STAGES):
        writer.links(name, {Relation.CO_PURCHASE: stage == s, Relation.CO_VIEW: np.full(len(viewed), s == TRAIN)})
    train = bought.where(stage == TRAIN)
    for name, queries in queries_of(low, train, catalog.items).items():
        writer.queries(name, "low", queries)
    for name, queries in queries_of(high, train, catalog.items).items():
        writer.queries(name, "high", queries)
    counts = {"candidates": rule.count_pairs(), "looked_at": found.looked_at, "listed": len(found.queries)}
    writer.notes["high"] = {"size 2": {**counts, "sampled": not found.complete}}


def _split_triplets(members: np.ndarray, answer: np.ndarray, seed: int, purpose: str) -> Triplets:
    columns = [*members.T, answer]
    stage = split_stages(len(answer), lambda part: mix(seed, purpose, *(column[part] for column in columns)))
    return Triplets(members, answer, stage)
