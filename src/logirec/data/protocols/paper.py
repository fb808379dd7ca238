"""What the paper's text says: low triplets and high triplets, each split at random. It leaks; `audit` shows how.

The pairs of high triplets are drawn from the whole graph, so a training link can be half of a test answer, and the
reverse of a test link can be in training.
"""

import numpy as np

from logirec.config import PrepareConfig
from logirec.data.catalog import Catalog
from logirec.data.graph import NO_LINKS
from logirec.data.high_order import Rule, find_answers
from logirec.data.protocols.parts import TRAIN, Parts, Triplets, mix, queries_of, shuffled, stages_of
from logirec.data.query_sets import STAGES
from logirec.relation import Relation


def split(catalog: Catalog, config: PrepareConfig) -> Parts:
    bought, viewed = catalog.links[Relation.CO_PURCHASE], catalog.links[Relation.CO_VIEW]
    plain = catalog.complementary()
    stage = np.zeros(len(bought), dtype=np.int8)  # links that are co-views too are no answers: training keeps them
    stage[plain] = stages_of(mix(config.seed, bought.source[plain], bought.target[plain]))
    low = Triplets(bought.source[plain][:, None], bought.target[plain], stage[plain])

    rule = Rule(bought, np.ones(len(bought), dtype=bool), catalog.items)
    pairs = rule.pairs()
    found = find_answers(rule, shuffled(pairs, config.seed), config.max_queries, train=True)
    members = found.queries.members.values.reshape(-1, 2)[found.queries.answers.owners]
    answer = found.queries.answers.values
    high = Triplets(members, answer, stages_of(mix(config.seed, members[:, 0], members[:, 1], answer)))

    links = {
        name: {
            Relation.CO_PURCHASE: bought.where(stage == s),
            Relation.CO_VIEW: viewed if s == TRAIN else NO_LINKS,
        }
        for s, name in enumerate(STAGES)
    }
    train = links["train"][Relation.CO_PURCHASE]
    parts = Parts(links, {})
    for stage_name, queries in queries_of(low, train, catalog.items).items():
        parts.queries[stage_name, "low"] = queries
    for stage_name, queries in queries_of(high, train, catalog.items).items():
        parts.queries[stage_name, "high"] = queries
    counts = {"candidates": len(pairs), "looked_at": found.looked_at, "listed": len(found.queries)}
    parts.notes["high"] = {"size 2": {**counts, "sampled": not found.complete}}
    return parts
