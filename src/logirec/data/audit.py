"""Does a dataset's test give anything away? Counts, shares and a verdict.

A check marked as a leak must be zero in a leak-free dataset. The others are facts to know about any dataset: they
make a number easier to reach (popularity, reciprocal links) or a raw ranking misleading (queries seen in training).
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from logirec.data.dataset import Dataset
from logirec.data.graph import ItemGraph, Links, in_rows
from logirec.data.query_sets import KINDS, Kind, QuerySet, Ragged, Stage, missing_links
from logirec.relation import Relation


class Check(NamedTuple):
    name: str
    stage: str
    kind: str
    found: int
    of: int
    leak: bool  # whether a leak-free dataset must have none
    says: str

    @property
    def share(self) -> float:
        return self.found / self.of if self.of else 0.0


class Report(NamedTuple):
    protocol: str
    checks: list[Check]
    facts: dict[str, float]

    @property
    def leaks(self) -> list[Check]:
        return [check for check in self.checks if check.leak and check.found]

    @property
    def verdict(self) -> str:
        """Clean only where something was looked at that could leak: a split by orders has nothing of the kind."""
        if self.leaks:
            return "leaks"
        return "clean" if any(check.leak and check.stage == "test" for check in self.checks) else "not judged"

    def as_json(self) -> dict[str, Any]:
        return {
            "protocol": self.protocol,
            "verdict": self.verdict,
            "leaks": len(self.leaks),
            "checks": [{**check._asdict(), "share": round(check.share, 6)} for check in self.checks],
            "facts": {name: round(value, 6) for name, value in self.facts.items()},
        }


def audit(dataset: Dataset) -> Report:
    train = dataset.graph("train")
    checks: list[Check] = []
    held_out: tuple[Stage, ...] = ("valid", "test")
    for stage in held_out:
        links = dataset.links(stage)[Relation.CO_PURCHASE]
        known = train if stage == "valid" else dataset.graph("valid")
        checks += _link_checks(stage, links, train)
        for kind in KINDS:
            queries, learnt = dataset.queries(stage, kind), dataset.queries("train", kind)
            checks += _query_checks(dataset.protocol, stage, kind, queries, learnt, known)
    checks += _between(dataset)
    checks += _repeated_baskets(dataset)
    return Report(dataset.protocol, [check for check in checks if check.of], _facts(dataset, train))


def _link_checks(stage: str, links: Links, train: ItemGraph) -> Iterator[Check]:
    """Held-out co-purchase links against the training links."""
    cp, cv = Relation.CO_PURCHASE, Relation.CO_VIEW
    source, target, total = links.source, links.target, len(links)

    def check(name: str, found: np.ndarray, leak: bool, says: str) -> Check:
        return Check(name, stage, "link", int(found.sum()), total, leak, says)

    # A source's inverse relations are folded into its links when read, so an inverse in training shows up as a copy.
    says = "the link is in training, itself or as an inverse relation"
    yield check("copy or inverse", train.has_links(cp, source, target), True, says)
    yield check("reverse", train.has_links(cp, target, source), True, "the link's other direction is in training")
    viewed = train.has_links(cv, source, target) | train.has_links(cv, target, source)
    yield check("co-viewed", viewed, False, "the pair is a known co-view (--hide-views holds those out)")


def _query_checks(
    protocol: str, stage: str, kind: Kind, queries: QuerySet, learnt: QuerySet, known: ItemGraph
) -> Iterator[Check]:
    answers, owner = queries.answers.values, queries.answers.owners
    names = _basket_names(queries.members)
    triplets = [(names[q], a) for q, a in zip(owner.tolist(), answers.tolist(), strict=True)]
    learnt_answers: dict[tuple[int, ...], set[int]] = {}  # of the queries that are asked here too
    asked = set(names)
    for q, basket in enumerate(_basket_names(learnt.members)):
        if basket in asked:
            learnt_answers.setdefault(basket, set()).update(learnt.answers.list(q).tolist())

    def check(name: str, count: int, of: int, leak: bool, says: str) -> Check:
        return Check(name, stage, kind, count, of, leak, says)

    # In `baskets` an answer is an event, not a link: that training orders hold the like of it is what is learnt from.
    # Two orders may be alike, and none of the checks below can tell a leak from a habit.
    events = protocol == "baskets"
    yield check(
        "answer learnt",
        sum(answer in learnt_answers.get(basket, ()) for basket, answer in triplets),
        len(triplets),
        not events,
        "query and answer are a training example",
    )
    for name, direction in (("lookup", False), ("reversed lookup", True)):
        found = _derivable(queries, known, direction)
        says = "the answer links to every member" if direction else "every member links to the answer"
        says += ", by links of earlier stages"
        yield check(name, int(found.sum()), len(answers), not events, says)
    if not events:
        says = "listed as held out and as known at the same time"
        yield check("answer known", _overlap(queries), len(answers), True, says)
        repeated = len(triplets) - len(set(triplets))
        yield check("duplicate", repeated, len(triplets), True, "the same query and answer twice")
        reordered = len(names) - len({tuple(sorted(name)) for name in names})
        yield check("reordered query", reordered, len(names), False, "the same set in another order")
    yield check(
        "query learnt",
        sum(basket in learnt_answers for basket in names),
        len(names),
        False,
        "the query is a training query: its known answers compete in a raw ranking",
    )


def _basket_names(members: Ragged) -> list[tuple[int, ...]]:
    values, offsets = members.values.tolist(), members.offsets.tolist()
    return [tuple(values[start:end]) for start, end in pairwise(offsets)]


def _derivable(queries: QuerySet, known: ItemGraph, reverse: bool) -> np.ndarray:
    """Per answer: a look-up in the known links finds it."""
    links = known.links[Relation.CO_PURCHASE]
    found: np.ndarray = (
        missing_links(queries.members, queries.answers, links.reversed() if reverse else links, known.items) == 0
    )
    return found


def _overlap(queries: QuerySet) -> int:
    """Answers that are among their own query's known ones."""
    known, answers = queries.known, queries.answers
    return int(in_rows(known.offsets, known.values, answers.owners, answers.values).sum())


def _between(dataset: Dataset) -> Iterator[Check]:
    """Test links against validation's: a model chosen on validation must not have been chosen on test."""
    valid, test = (dataset.links(stage)[Relation.CO_PURCHASE] for stage in ("valid", "test"))
    graph = ItemGraph(dataset.items, {Relation.CO_PURCHASE: valid})
    found = graph.has_links(Relation.CO_PURCHASE, test.source, test.target)
    found |= graph.has_links(Relation.CO_PURCHASE, test.target, test.source)
    says = "the link, in either direction, is a validation link"
    yield Check("in validation", "test", "link", int(found.sum()), len(test), True, says)


def _repeated_baskets(dataset: Dataset) -> Iterator[Check]:
    """Protocol baskets: later orders that hold exactly what a training order held. Shops have regulars."""
    orders = dataset.baskets()
    if orders is None:
        return
    seen = {tuple(sorted(name)) for name in _basket_names(orders)}
    for kind in KINDS:
        queries = dataset.queries("test", kind)
        hidden = queries.answers.values.tolist()
        whole = [(*name, answer) for name, answer in zip(_basket_names(queries.members), hidden, strict=True)]
        count = sum(tuple(sorted(name)) in seen for name in whole)
        yield Check("basket seen", "test", kind, count, len(whole), False, "a training order holds the same items")


def _facts(dataset: Dataset, train: ItemGraph) -> dict[str, float]:
    everything = dataset.graph("test").links[Relation.CO_PURCHASE]
    if not len(everything):
        return {}
    graph = ItemGraph(dataset.items, {Relation.CO_PURCHASE: everything})
    reciprocal = graph.has_links(Relation.CO_PURCHASE, everything.target, everything.source)
    bought = np.sort(np.bincount(everything.target, minlength=dataset.items))
    top = max(1, dataset.items // 100)
    popular = np.argsort(-np.bincount(train.links[Relation.CO_PURCHASE].target, minlength=dataset.items), kind="stable")
    answers = np.concatenate([dataset.queries("test", kind).answers.values for kind in KINDS])
    high = dataset.queries("test", "high")
    return {
        "reciprocal_share": float(reciprocal.mean()),
        "popularity_gini": _gini(bought),
        "links_to_top_1_percent_of_items": float(bought[-top:].sum() / bought.sum()),
        "test_answers_among_top_1_percent_of_items": float(np.isin(answers, popular[:top]).mean())
        if len(answers)
        else 0.0,
        # By the paper's rule every member links to the answer; in the authors' data it is the other way round.
        "high_test_answers_linked_from_all_members": _share(_derivable(high, graph, reverse=False)),
        "high_test_answers_linking_to_all_members": _share(_derivable(high, graph, reverse=True)),
    }


def _share(found: np.ndarray) -> float:
    return float(found.mean()) if len(found) else 0.0


def _gini(ascending: np.ndarray) -> float:
    """0 when all items are linked to equally often, near 1 when a few take everything."""
    n = len(ascending)
    place = np.arange(1, n + 1)
    return float((2 * place - n - 1) @ ascending / (n * ascending.sum()))
