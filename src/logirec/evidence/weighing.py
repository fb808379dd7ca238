"""How much each table of evidence counts beside the model's scores: learnt on validation, for one kind of query.

Ways to weigh (places.py says what weights are) are fitted to one half of the queries and judged by how they rank the
other; how they are fitted is in fitting.py.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from logirec.data.query_sets import Ragged
from logirec.evaluation.evaluate import Questions, mean_mrr
from logirec.evidence.fitting import FAR, SIZES, Belief, Entries, counted, fitted
from logirec.evidence.places import CURVES, Places
from logirec.index.scorer import Scorer
from logirec.model.logirec import LogiRec

TILE = 1 << 24  # numbers held at once
# So many answers' worth that what is said of new items counts little: most queries may ask for the same few of them.
FIRM_OF_NEW = 32.0
WORTH_IT = 1.005  # how many times better the next way must rank: less is chance
# How many times better than with evidence the model must rank alone: its steps were chosen by these very queries.
FLATTERED = 1.05
# Of so many ways with orders, the best on validation is mostly chance: the next must be better by standard errors too.
SURELY = 1.5
FITTED = 1_000  # queries that weights are fitted to; more of them say the same, and are to judge by


class Form(NamedTuple):
    """A way to weigh evidence."""

    curves: int = 1  # the first so many
    model: bool = True  # it counts as much as it should, else next to nothing
    times: float = 1.0  # how many times what is likeliest evidence counts beside it

    @property
    def likeliest(self) -> "Form":
        """What is fitted for it."""
        return self._replace(times=1.0)


# What all of a set supports has the largest sum of logarithms; what any member of a large basket calls for has the
# largest sum. Which it is depends on the shop, so that these are tried one after the other.
FORMS = {
    "sums and logarithms": Form(len(CURVES)),
    "sums": Form(),
    "sums and logarithms, hardly the model": Form(len(CURVES), model=False),
    "sums, hardly the model": Form(model=False),
}
# Most items of a basket cannot be told from the others, and likelihood is about those: it has evidence count less
# beside the model than the ranking of what can be told would have it. The first suits most shops.
FIRST_OF_ORDERS = {"sums, hardly the model, 0.25 times": Form(model=False, times=0.25)}
FORMS_OF_ORDERS = FIRST_OF_ORDERS | {
    name if times == 1 else f"{name}, {times:g} times": form._replace(times=times)
    for name, form in FORMS.items()
    for times in ((1.0, 2.0, 4.0, 8.0) if form.model else (1.0, 0.5, 0.25, 0.125))
}


NO_WEIGHTS = np.zeros((0, len(CURVES)))


class Choice(NamedTuple):
    """What was made of the evidence for one kind of query."""

    form: str  # "none": the model ranks best alone
    valid_mrr: float  # of each half of the queries, with weights from the other half
    alone: float  # the model's


class Part(NamedTuple):
    """Some of the queries. Entries are what has evidence and the answers, of one query after the other."""

    lengths: np.ndarray  # (B,) entries of each query
    group: np.ndarray  # (B,) of baskets of about that size
    rest: np.ndarray  # (B, N) the model's scores of what has no evidence; FAR elsewhere
    own: np.ndarray  # (S,) the model's scores
    wanted: np.ndarray  # (S,) whether it is an answer
    features: np.ndarray  # (S, F)

    def mrr(self, ways: Sequence[np.ndarray]) -> np.ndarray:
        """(W, B) one over the rank of the best answer, with the weights of each way."""
        owners, starts = np.repeat(np.arange(len(self.lengths)), self.lengths), np.cumsum(self.lengths) - self.lengths
        rest = torch.from_numpy(np.sort(self.rest, axis=1))  # once for all ways
        found = []
        for weights in ways:
            scores = self.own + self.features @ weights.ravel().astype(np.float32)
            best = np.maximum.reduceat(np.where(self.wanted, scores, FAR), starts)
            wall = torch.from_numpy(best)[:, None]
            up_to, below = (torch.searchsorted(rest, wall, right=right)[:, 0].numpy() for right in (True, False))
            better = np.bincount(owners, scores > best[owners]) + rest.shape[1] - up_to
            ties = np.bincount(owners, scores == best[owners]) - 1 + up_to - below
            found.append(1 / (1 + better + ties / 2))
        return np.stack(found)


class Standing(NamedTuple):
    """How ways rank the same queries."""

    found: np.ndarray  # (W, B) one over the rank of the best answer
    counts: np.ndarray  # (B,) how much queries count

    @property
    def means(self) -> list[float]:
        means: list[float] = np.average(self.found, axis=1, weights=self.counts).tolist()
        return means

    def better(self, one: int, other: int, surely: float) -> bool:
        """Whether it is worth it, and by so many standard errors of the difference."""
        before, after = (float(np.average(self.found[way], weights=self.counts)) for way in (other, one))
        away = self.counts * (self.found[one] - self.found[other] - (after - before))
        error = float(np.sqrt(np.square(away).sum()) / self.counts.sum())
        return after > WORTH_IT * before and after - before > surely * error


class Weighing:
    """Of tables, for one kind of query."""

    def __init__(
        self,
        model: LogiRec,
        asked: Questions,
        place: Places,
        new: np.ndarray | None = None,
        forms: Mapping[str, Form] = FORMS,
        surely: float = 0.0,
    ) -> None:
        """`new` (N,): items of which nothing is known but what they are like. `forms`: those that are tried, each of
        which must rank better than the one before by `surely` standard errors."""
        self.scores, self.asked, self.place, self.forms = Scorer(model).scores, asked, place, forms
        self.surely = surely
        self.new = np.zeros(place.items, dtype=bool) if new is None else new

    def best(
        self, tables: list[np.ndarray], of_new: list[np.ndarray], usual: np.ndarray | None = None
    ) -> tuple[Choice, np.ndarray]:
        """The form that ranks best what it was not fitted to, with its weights (tables, curves) fitted to all; no
        weights where the model is best alone.

        `of_new`: what tables say of new items, tried beside the rest. `usual`: weights (tables, curves)."""
        count = len(self.asked.queries)
        if count < 2:
            alone = mean_mrr(self.scores, self.asked, self.place.items)
            return Choice("none", alone, alone), NO_WEIGHTS
        halves = [np.arange(first, count, 2) for first in (0, 1)]
        learnt, places = _thinned(halves)
        entries, fits = self.entries(tables, learnt), dict[Form, list[np.ndarray]]()
        for form in dict.fromkeys(form.likeliest for form in self.forms.values()):
            fits[form] = _of_each(places, form, self._belief(form, usual, len(tables)), entries)
        nothing = [np.zeros((len(tables), len(CURVES)))] * 2
        ways = [[form.times * half for half in fits[form.likeliest]] for form in self.forms.values()]
        counts = _of_sizes(self.asked.queries.members)
        standing = self._judged(tables, [nothing, *ways], halves, counts)
        alone, *found = standing.means
        choice, chosen, best = Choice("none", alone, alone), None, 0
        for at, ((name, form), mrr) in enumerate(zip(self.forms.items(), found, strict=True), 1):
            better = standing.better(at, best, self.surely) if best else mrr > alone / FLATTERED
            if better:
                choice, chosen, best = Choice(name, mrr, alone), form, at
        if of_new and (with_new := self._with_new(choice, chosen, tables, of_new, usual)):
            return with_new
        if chosen is None:
            return choice, NO_WEIGHTS
        return choice, _weights(chosen, self._belief(chosen, usual, len(tables)), entries)

    def _with_new(
        self,
        choice: Choice,
        chosen: Form | None,
        tables: list[np.ndarray],
        of_new: list[np.ndarray],
        usual: np.ndarray | None,
    ) -> tuple[Choice, np.ndarray] | None:
        """The same with what is said of new items; nothing where that ranks no better. Most queries may ask for one of
        them: they count alike, and what is asked for most in one half is not in the other."""
        halves = _apart(self.asked.queries.answers)
        if not all(map(len, halves)):
            return None
        learnt, places = _thinned(halves)
        every, counts = tables + of_new, _counts(self.asked.queries.answers, self.new)
        entries = self.entries(every, learnt, counts)
        name, form = (choice.form, chosen) if chosen is not None else next(iter(self.forms.items()))
        before = [np.zeros((len(every), len(CURVES)))] * 2
        if chosen is not None:
            known = entries.with_columns(list(range(len(tables) * len(CURVES))))
            fits = _of_each(places, form, self._belief(form, usual, len(tables)), known)
            before = [np.concatenate([half, np.zeros((len(of_new), len(CURVES)))]) for half in fits]
        belief = self._belief(form, usual, len(tables)).then(self._of_new(form, len(of_new), learnt))
        after = _of_each(places, form, belief, entries)
        without, found = self._judged(every, [before, after], halves, counts).means
        if found <= WORTH_IT * without:
            return None
        return Choice(f"{name}, new items too", found, choice.alone), _weights(form, belief, entries)

    def _judged(
        self, tables: list[np.ndarray], ways: Sequence[list[np.ndarray]], halves: list[np.ndarray], counts: np.ndarray
    ) -> Standing:
        """Of each way, which has weights from either half: those from one rank the queries of the other. All ways in
        one pass, since it is the model's scores that take time."""
        theirs = ([way[1] for way in ways], [way[0] for way in ways])
        found = [
            self._part(tables, some).mrr(weights)
            for half, weights in zip(halves, theirs, strict=True)
            for some in self._steps(half)
        ]
        return Standing(np.concatenate(found, axis=1), counts[np.concatenate(halves)])

    def _belief(self, form: Form, usual: np.ndarray | None, tables: int) -> Belief:
        """Usual weights are of all curves together."""
        if usual is not None and form.curves == len(CURVES):
            return Belief.usual(usual)
        return Belief.small(tables * form.curves)

    def _of_new(self, form: Form, tables: int, learnt: np.ndarray) -> Belief:
        """`learnt`: the queries that weights are fitted to. The more of them share an answer, the firmer."""
        answers = np.unique(self.asked.queries.take(learnt).answers.values)
        return Belief.small(tables * form.curves, FIRM_OF_NEW * len(learnt) / max(1, len(answers)))

    def entries(
        self, tables: list[np.ndarray], some: np.ndarray | None = None, counts: np.ndarray | None = None
    ) -> Entries:
        """Of some queries, default all; `counts` (all queries): how much each counts."""
        some = np.arange(len(self.asked.queries)) if some is None else some
        counts = np.ones(len(self.asked.queries)) if counts is None else counts
        found = []
        for few in self._steps(some):
            part = self._part(tables, few)
            found.append((*part[:2], *counted(part.rest), *part[3:]))
        return Entries(counts[some].astype(np.float32), *map(np.concatenate, zip(*found, strict=True)))

    def _steps(self, queries: np.ndarray) -> list[np.ndarray]:
        step = max(1, TILE // self.place.items)
        return [queries[first : first + step] for first in range(0, len(queries), step)]

    def _part(self, tables: list[np.ndarray], some: np.ndarray) -> Part:
        asked = self.asked.take(some)
        queries = asked.queries
        own = self.scores(queries.members).float().cpu().numpy()
        wanted = np.zeros(own.shape, dtype=bool)
        wanted[queries.answers.owners, queries.answers.values] = True
        hidden = np.zeros(own.shape, dtype=bool)
        hidden[asked.filters.owners, asked.filters.values] = True
        own[hidden & ~wanted] = FAR
        single = bool(queries.members.lengths.max() == 1)  # asks for no substitutes
        owners, rows, sums = self.place.sums(queries.members, tables, unlike=single)
        there = own[owners, rows] > FAR
        owners, rows, sums = owners[there], rows[there], sums[there]
        unseen = wanted.copy()
        unseen[owners, rows] = False
        more = unseen.nonzero()  # answers without evidence
        owners, rows = (np.concatenate(both) for both in zip((owners, rows), more, strict=True))
        order = np.argsort(owners, kind="stable")
        owners, rows = owners[order], rows[order]
        features = np.concatenate([sums, np.zeros((len(more[0]), sums.shape[1]), np.float32)])[order]
        scores, answers = own[owners, rows], wanted[owners, rows]
        own[owners, rows] = FAR
        lengths = np.bincount(owners, minlength=len(some))
        return Part(lengths, np.searchsorted(SIZES, queries.members.lengths), own, scores, answers, features)


def _of_sizes(members: Ragged) -> np.ndarray:
    """(B,) how much queries count, so that baskets of about each size count alike: a shop has large ones, and asks
    about small ones."""
    group = np.searchsorted(SIZES, members.lengths)
    counts: np.ndarray = 1 / np.bincount(group)[group]
    return counts


def _thinned(halves: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """The queries that weights are fitted to, and the places among them of those in each half."""
    few = [half[:: -(-2 * len(half) // FITTED)] for half in halves]
    learnt = np.sort(np.concatenate(few))
    return learnt, [np.searchsorted(learnt, half) for half in few]


def _weights(form: Form, belief: Belief, entries: Entries) -> np.ndarray:
    """(tables, curves), beside the model's scores as they are; none for curves that the form is without."""
    used = [place for place in range(entries.features.shape[1]) if place % len(CURVES) < form.curves]
    weights, scale = fitted(entries.with_columns(used), form.model, belief)
    found = np.zeros((entries.features.shape[1] // len(CURVES), len(CURVES)))
    found[:, : form.curves] = (form.times * weights / scale).reshape(-1, form.curves)
    return found


def _of_each(halves: list[np.ndarray], form: Form, belief: Belief, entries: Entries) -> list[np.ndarray]:
    return [_weights(form, belief, entries.of(half)) for half in halves]


def _counts(answers: Ragged, alike: np.ndarray) -> np.ndarray:
    """(B,) how much queries count: 1 for an answer on the mean, less the more often one of those alike is asked for."""
    times = np.bincount(answers.values, minlength=len(alike))
    often = times[alike & (times > 0)]
    each = np.where(alike, (often.mean() if len(often) else 1) / np.maximum(times, 1), 1.0)
    sums = np.bincount(answers.owners, each[answers.values], minlength=len(answers))
    means: np.ndarray = sums / np.maximum(answers.lengths, 1)
    return means


def _apart(answers: Ragged) -> list[np.ndarray]:
    """Queries in two halves by the answer that is asked for most, which is in one of them only."""
    _, which, times = np.unique(answers.values, return_inverse=True, return_counts=True)
    order = np.lexsort((which, -times[which], answers.owners))
    _, place = np.unique(which[order[answers.offsets[:-1]]], return_inverse=True)
    return [np.flatnonzero(place % 2 == half) for half in (0, 1)]
