"""Queries from answers that were split one by one, as the paper and its authors do."""

from typing import NamedTuple

import numpy as np

from logirec.data.graph import Links
from logirec.data.query_sets import EMPTY, STAGES, QuerySet, Stage, missing_links, ragged, rectangle


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
