"""How much each table of evidence counts beside the model's scores: learnt on validation, for one kind of query.

    amounts[m, j]  =  sum over tables t and curves c of  weight[t, c] * c(t[m, j])

How the weights are found is in fitting.py.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import product
from operator import add
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse

from logirec.baselines.base import members
from logirec.data.query_sets import Ragged
from logirec.evaluation.evaluate import Questions, mean_mrr
from logirec.evidence.fitting import FAR, SIZES, Belief, Entries, counted, fitted
from logirec.index.scorer import Scorer
from logirec.model.evidence import Evidence
from logirec.model.logirec import LogiRec

TILE = 1 << 24  # numbers held at once
# So many answers' worth that what is said of new items counts little: most queries may ask for the same few of them.
FIRM_OF_NEW = 32.0
WORTH_IT = 1.005  # how many times better the next way must rank: less is chance
# How many times better than with evidence the model must rank alone: its steps were chosen by these very queries.
FLATTERED = 1.05
# How many times what is likeliest evidence of orders may count. Most items of a basket cannot be told from the others,
# and likelihood is about those: it has evidence count less than the ranking of what can be told would have it.
TIMES_OF_ORDERS = (1.0, 2.0, 4.0, 8.0)

Curve = Callable[[np.ndarray], np.ndarray]


def _bent(numbers: np.ndarray, near: float) -> np.ndarray:
    """Logarithms from about `near` on; nothing for what speaks against a pair."""
    bent: np.ndarray = np.log1p(np.maximum(numbers, 0) / np.float32(near))
    return bent


CURVES: tuple[Curve, ...] = (np.asarray, partial(_bent, near=0.02), partial(_bent, near=0.3))


class Form(NamedTuple):
    """A way to weigh evidence."""

    curves: int = 1  # the first so many
    model: bool = True  # it counts as much as it should, else next to nothing
    times: float = 1.0  # how many times what is likeliest evidence counts beside it


# What all of a set supports has the largest sum of logarithms; what any member of a large basket calls for has the
# largest sum. Which it is depends on the shop, so that these are tried one after the other.
FORMS = {
    "sums and logarithms": Form(len(CURVES)),
    "sums": Form(),
    "sums and logarithms, hardly the model": Form(len(CURVES), model=False),
    "sums, hardly the model": Form(model=False),
}


NO_WEIGHTS = np.zeros((0, len(CURVES)))


class Choice(NamedTuple):
    """What was made of the evidence for one kind of query."""

    form: str  # "none": the model ranks best alone
    valid_mrr: float  # of each half of the queries, with weights from the other half
    alone: float  # the model's


class Places:
    """All (row, column) where a table has something, in order; `viewed`: the items that are viewed with each item."""

    def __init__(self, tables: list[Any], viewed: Any = None) -> None:
        self.items = tables[0].shape[0]
        everywhere = reduce(add, (_filled(table) for table in tables)).tocsr()
        everywhere.sort_indices()
        self.keys = self._keys(everywhere)
        self.targets = (self.keys % self.items).astype(np.int32)
        counts = np.bincount(self.keys // self.items, minlength=self.items)
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.viewed = np.isin(self.keys, [] if viewed is None else self._keys(viewed))

    def _keys(self, table: Any) -> np.ndarray:
        rows, columns = table.tocoo().coords
        keys: np.ndarray = rows.astype(np.int64) * self.items + columns
        return keys

    def values(self, table: Any) -> np.ndarray:
        """A table's numbers, and zero where it has none."""
        found = np.zeros(len(self.keys), dtype=np.float32)
        found[np.searchsorted(self.keys, self._keys(table))] = table.tocoo().data
        return found

    def evidence(self, amounts: np.ndarray) -> Evidence:
        return Evidence(*map(torch.from_numpy, (self.starts, self.targets, amounts, self.viewed)))

    def sums(
        self, baskets: Ragged, tables: list[np.ndarray], unlike: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Over the members of each basket: owners (S,), rows (S,) and the sums of each table through each curve (S, F).

        `unlike`: what is viewed with a member does not count."""
        asked = members(baskets, self.items)
        starts = self.starts[asked.indices]
        lengths = self.starts[asked.indices + 1] - starts
        at = np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        owners = np.repeat(np.repeat(np.arange(len(baskets)), np.diff(asked.indptr)), lengths)
        if unlike:
            owners, at = owners[~self.viewed[at]], at[~self.viewed[at]]
        keys = owners * self.items + self.targets[at]
        order = np.argsort(keys, kind="stable")
        found, first = np.unique(keys[order], return_index=True)
        sums = np.zeros((len(found), len(tables) * len(CURVES)), np.float32)
        if len(found):
            at = at[order]
            for place, (table, curve) in enumerate(product(tables, CURVES)):
                sums[:, place] = np.add.reduceat(curve(table[at]), first)
        return found // self.items, found % self.items, sums


def _filled(table: Any) -> Any:
    """True where a table has a number: these add up in a tenth of the time that it takes to sort all their places."""
    table = table.tocsr()
    return sparse.csr_array((np.ones(table.nnz, dtype=bool), table.indices, table.indptr), table.shape)


class Weighing:
    """Of tables, for one kind of query."""

    def __init__(
        self,
        model: LogiRec,
        asked: Questions,
        place: Places,
        new: np.ndarray | None = None,
        times: Sequence[float] = (1.0,),
    ) -> None:
        """`new` (N,): items of which nothing is known but what they are like. `times`: those that forms are tried
        with."""
        self.model, self.asked, self.place, self.times = model, asked, place, times
        self.new = np.zeros(place.items, dtype=bool) if new is None else new

    def best(
        self, tables: list[np.ndarray], of_new: list[np.ndarray], usual: np.ndarray | None = None
    ) -> tuple[Choice, np.ndarray]:
        """The form that ranks best what it was not fitted to, with its weights (tables, curves) fitted to all; no
        weights where the model is best alone.

        `of_new`: what tables say of new items, tried beside the rest. `usual`: weights (tables, curves)."""
        alone = self._mrr(None, self.asked)
        choice, chosen = Choice("none", alone, alone), None
        count = len(self.asked.queries)
        if count < 2:
            return choice, NO_WEIGHTS
        halves, entries = [np.arange(first, count, 2) for first in (0, 1)], self.entries(tables)
        to_beat = alone / FLATTERED
        for name, form in FORMS.items():
            belief = self._belief(form, usual, len(tables), 0)
            found = _of_each(halves, form, belief, entries)
            for times in self.times if form.model else (1.0,):
                mrr = self._judged(tables, [times * weights for weights in found], entries, halves)
                if mrr > to_beat:
                    to_beat = WORTH_IT * mrr
                    choice = Choice(name if times == 1 else f"{name}, {times:g} times", mrr, alone)
                    chosen = form._replace(times=times)
        if of_new and (with_new := self._with_new(choice, chosen, tables, of_new, usual)):
            return with_new
        if chosen is None:
            return choice, NO_WEIGHTS
        return choice, _weights(chosen, self._belief(chosen, usual, len(tables), 0), entries)

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
        every = tables + of_new
        entries = self.entries(every, alike=self.new)
        if chosen is None:
            name, form = next(iter(FORMS.items()))
            before = self._mrr(None, self.asked, entries.counts)
        else:
            name, form = choice.form, chosen
            known = entries.with_columns(list(range(len(tables) * len(CURVES))))
            belief = self._belief(form, usual, len(tables), 0)
            before = self._judged(tables, _of_each(halves, form, belief, known), known, halves)
        belief = self._belief(form, usual, len(tables), len(of_new))
        found = self._judged(every, _of_each(halves, form, belief, entries), entries, halves)
        if found <= WORTH_IT * before:
            return None
        return Choice(f"{name}, new items too", found, choice.alone), _weights(form, belief, entries)

    def _judged(
        self, tables: list[np.ndarray], weights: list[np.ndarray], entries: Entries, halves: list[np.ndarray]
    ) -> float:
        """MRR of each half, with the weights of the other half."""
        pairs = zip(weights[::-1], halves, strict=True)
        found = [
            self._mrr(amounts(tables, theirs), _take(self.asked, half), entries.counts[half]) for theirs, half in pairs
        ]
        return float(np.mean(found))

    def _belief(self, form: Form, usual: np.ndarray | None, tables: int, new: int) -> Belief:
        """Usual weights are of all curves together."""
        known = Belief.small(tables * form.curves)
        if usual is not None and form.curves == len(CURVES):
            known = Belief.usual(usual)
        answers = len(np.unique(self.asked.queries.answers.values))
        return known.then(Belief.small(new * form.curves, FIRM_OF_NEW * len(self.asked.queries) / max(1, answers)))

    def _mrr(self, found: np.ndarray | None, asked: Questions, counts: np.ndarray | None = None) -> float:
        evidence = None if found is None else self.place.evidence(np.stack([found, found]))
        if evidence is not None:
            evidence = evidence.to(self.model.raw_items.device)
        return mean_mrr(Scorer(self.model, evidence).scores, asked, self.place.items, counts)

    def entries(self, tables: list[np.ndarray], alike: np.ndarray | None = None) -> Entries:
        """`alike` (N,): answers that count alike, however many queries ask for each."""
        answers = self.asked.queries.answers
        counts = np.ones(len(answers)) if alike is None else _counts(answers, alike)
        step = max(1, TILE // self.place.items)
        starts = range(0, len(self.asked.queries), step)
        parts = [self._some(tables, np.arange(n, min(n + step, len(self.asked.queries)))) for n in starts]
        return Entries(counts.astype(np.float32), *map(np.concatenate, zip(*parts, strict=True)))

    def _some(self, tables: list[np.ndarray], some: np.ndarray) -> tuple[np.ndarray, ...]:
        """Entries without counts."""
        part = _take(self.asked, some)
        queries = part.queries
        own = Scorer(self.model).scores(queries.members).float().cpu().numpy()
        wanted = np.zeros(own.shape, dtype=bool)
        wanted[queries.answers.owners, queries.answers.values] = True
        hidden = np.zeros(own.shape, dtype=bool)
        hidden[part.filters.owners, part.filters.values] = True
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
        own[owners, rows] = FAR  # what is left has no evidence
        lengths = np.bincount(owners, minlength=len(some))
        group = np.searchsorted(SIZES, queries.members.lengths)
        return lengths, group, *counted(own), scores, answers, features


def _weights(form: Form, belief: Belief, entries: Entries) -> np.ndarray:
    """(tables, curves), beside the model's scores as they are; none for curves that the form is without."""
    used = [place for place in range(entries.features.shape[1]) if place % len(CURVES) < form.curves]
    weights, scale = fitted(entries.with_columns(used), form.model, belief)
    found = np.zeros((entries.features.shape[1] // len(CURVES), len(CURVES)))
    found[:, : form.curves] = (form.times * weights / scale).reshape(-1, form.curves)
    return found


def _of_each(halves: list[np.ndarray], form: Form, belief: Belief, entries: Entries) -> list[np.ndarray]:
    return [_weights(form, belief, entries.of(half)) for half in halves]


def amounts(tables: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """What tables come to, place by place. Where there are no weights, or no tables any more, nothing is added."""
    found = np.zeros_like(tables[0])
    for table, row in zip(tables, weights.astype(np.float32), strict=False):
        for weight, curve in zip(row, CURVES, strict=True):
            if weight:
                found += weight * curve(table)
    return found


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


def _take(asked: Questions, places: np.ndarray) -> Questions:
    return Questions(asked.queries.take(places), asked.filters.take(places))
