"""Rank the queries of a dataset with anything that gives scores, and say how well it did."""

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from logirec.data.query_sets import KINDS, Kind, QuerySet, Ragged, Stage, joined, ragged, targets_of
from logirec.evaluation.metrics import intervals, per_query
from logirec.evaluation.ranks import Scores, Standing, Standings, stand
from logirec.relation import Relation

if TYPE_CHECKING:  # reading one needs Arrow; ranking does not
    from logirec.data.dataset import Dataset

# Links from other items that an answer has in training: the bounds of the groups.
POPULARITY = (0, 1, 5, 20, 100)


@dataclass(frozen=True)
class Questions:
    """Queries of one kind with what is filtered out of their ranking."""

    queries: QuerySet
    filters: Ragged

    def take(self, places: np.ndarray) -> "Questions":
        return Questions(self.queries.take(places), self.filters.take(places))

    def thinned(self, most: int) -> "Questions":
        """Every so many-th, so that there are no more than this."""
        count = len(self.queries)
        return self.take(np.arange(0, count, -(-count // most))) if count > most else self

    def raw(self) -> "Questions":
        """Ranked among all items."""
        nothing = Ragged(np.zeros(len(self.queries) + 1, np.int64), np.empty(0, np.int64))
        return Questions(self.queries, nothing)


def questions(dataset: "Dataset", stage: Stage, kind: Kind, most: int | None = None, seed: int = 0) -> Questions:
    """Filters: known answers, the basket itself and, for low queries, what is viewed with the item."""
    queries = dataset.queries(stage, kind)
    if most is not None and len(queries) > most:
        queries = queries.take(np.sort(np.random.default_rng(seed).choice(len(queries), most, replace=False)))
    parts = [queries.known, queries.members]
    if kind == "low":
        views = dataset.graph(stage).links[Relation.CO_VIEW]
        parts.append(targets_of(views, dataset.items, queries.members.values))
    return Questions(queries, joined(parts))


def standings(scores: Scores, asked: Questions, items: int) -> Standings:
    return stand(scores, asked.queries.members, asked.queries.answers, asked.filters, items)


def mean_mrr(scores: Scores, asked: Questions, items: int, weights: np.ndarray | None = None) -> float:
    """Filtered MRR alone, for validation while training; `weights`: how much each query counts."""
    found = standings(scores, asked, items)
    return float(np.average(per_query(found.filtered, asked.queries.answers)["mrr"], weights=weights))


def evaluate(
    scores: Scores, dataset: "Dataset", stage: Stage = "test", most: int | None = None, seed: int = 0
) -> dict[str, Any]:
    """low|high -> filtered|raw -> metrics, `queries`, `intervals`; filtered also by groups of queries and answers."""
    popularity = link_popularity(dataset)
    return {
        kind: report(standings(scores, asked, dataset.items), asked, popularity, seed)
        for kind, asked in ((kind, questions(dataset, stage, kind, most, seed)) for kind in KINDS)
    }


def link_popularity(dataset: "Dataset") -> np.ndarray:
    """How many training links lead to each item."""
    return np.bincount(dataset.graph().links[Relation.CO_PURCHASE].target, minlength=dataset.items)


def report(found: Standings, asked: Questions, popularity: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """What `evaluate` says of one kind of query."""
    if not len(asked.queries):
        return {}
    answers = asked.queries.answers
    groups = _groups(found.filtered, asked.queries, popularity)
    return {
        "filtered": {**_summary(found.filtered, answers, seed), "groups": groups},
        "raw": _summary(found.raw, answers, seed),
    }


def _summary(standing: Standing, answers: Ragged, seed: int) -> dict[str, Any]:
    values = per_query(standing, answers)
    return {**_means(values), "queries": len(answers), "intervals": intervals(values, seed)}


def _means(values: dict[str, np.ndarray]) -> dict[str, float]:
    return {name: float(column.mean()) for name, column in values.items()}


def _groups(standing: Standing, queries: QuerySet, popularity: np.ndarray) -> dict[str, dict[str, Any]]:
    """By basket size, and with the answers of one group alone: by held-out links and by popularity."""
    answers = queries.answers
    size = queries.members.lengths[answers.owners]
    popular = np.searchsorted(POPULARITY, popularity[answers.values], side="right") - 1
    names = [f"{a}-{b - 1}" if b - a > 1 else f"{a}" for a, b in pairwise(POPULARITY)]
    names.append(f"{POPULARITY[-1]}+")
    return {
        "basket_size": _by(standing, answers, size, str),
        "held_out_links": _by(standing, answers, queries.hardness, str),
        "popularity": _by(standing, answers, popular, lambda g: names[int(g)]),
    }


def _by(standing: Standing, answers: Ragged, group: np.ndarray, name: Any) -> dict[str, Any]:
    result = {}
    for value in sorted(set(group.tolist())):
        mine = group == value
        owners, place = np.unique(answers.owners[mine], return_inverse=True)
        own = ragged(place, answers.values[mine], len(owners))
        values = per_query(Standing(standing.better[mine], standing.ties[mine]), own)
        result[name(value)] = {**_means(values), "queries": len(own), "answers": int(mine.sum())}
    return result
