"""Dataset and trained model -> the evidence that is added to the model's scores.

Nine tables say something of a pair of items: how likely links, views and words of the one have it that it is bought
with the other, and those of the other that it is bought with the one (regression), how well what one is bought with
predicts the other (EASE), what items like it are bought with (row cosine), what those viewed with it are bought with,
how many neighbours the two share, and whether the pair is linked, linked the other way, or viewed together. Of orders
there are two, EASE and row cosine. One more is what other models think of it, where there are any. Each is seen through
a few curves. How much each counts is learnt on validation, for single items and for sets apart:

    amounts[m, j]  =  sum over tables t and curves c of  weight[t, c] * c(t[m, j])
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from logirec.baselines import ease, row_cosine
from logirec.baselines.base import members
from logirec.baselines.rows import co_purchases, either_way, scaled, strongest
from logirec.data.dataset import Dataset
from logirec.data.graph import matrix
from logirec.data.query_sets import KINDS, Kind, Ragged
from logirec.evaluation.evaluate import Questions, mean_mrr
from logirec.index.scorer import Scorer
from logirec.lookalikes import spread_to
from logirec.model.evidence import Evidence
from logirec.model.logirec import LogiRec
from logirec.regression import both_ways
from logirec.relation import Relation

MOST = 200  # items kept of each item's row in a table
TILE = 1 << 24  # numbers held at once
BINS = 256  # the scores of what has no evidence are counted in so many steps
STRENGTHS = (3.0, 1.0, 10.0, 30.0)  # regularisations of EASE that are tried on orders
STEPS, RIDGE = 60, 1e-3
CLOSE_ENOUGH = 1e-6  # less than this does not change a ranking, and takes a quarter longer
SIZES = (1, 2, 3, 4, 8, 16)  # of baskets, up to each
WORTH_IT = 1.005  # how many times better the next way must rank: less is chance
USUAL_SCALE = float(np.log(0.3))  # of the model's own scores, as a logarithm
LEAST_SCALE = 0.05  # of the model's own scores, however little they say: amounts are given beside them
FAR = -1e9  # the score of what cannot be shown: nothing else comes near, and it has a slope

Curve = Callable[[np.ndarray], np.ndarray]


def _bent(numbers: np.ndarray, near: float) -> np.ndarray:
    """Logarithms from about `near` on; nothing for what speaks against a pair."""
    bent: np.ndarray = np.log1p(np.maximum(numbers, 0) / near)
    return bent


_LOGARITHMS: tuple[Curve, ...] = (partial(_bent, near=0.02), partial(_bent, near=0.3))


class Form(NamedTuple):
    """A way to weigh evidence."""

    curves: tuple[Curve, ...] = (np.asarray,)
    model: bool = True  # it counts as much as it should, else next to nothing


# What all of a set supports has the largest sum of logarithms; what any member of a large basket calls for has the
# largest sum. Which it is depends on the shop, so that these are tried one after the other.
FORMS = {
    "sums": Form(),
    "sums and logarithms": Form((np.asarray, *_LOGARITHMS)),
    "sums, hardly the model": Form(model=False),
    "sums and logarithms, hardly the model": Form((np.asarray, *_LOGARITHMS), model=False),
}


class Choice(NamedTuple):
    """What was made of the evidence for one kind of query."""

    form: str  # "none": the model ranks best alone
    valid_mrr: float  # of each half of the queries, with weights from the other half
    alone: float  # the model's


def gathered(
    model: LogiRec,
    dataset: Dataset,
    asked: Mapping[Kind, Questions],
    alike: Any = None,
    others: Sequence[LogiRec] = (),
) -> tuple[Evidence, dict[Kind, Choice]]:
    """For a model that has no evidence yet; `asked` are validation's queries. `alike`: what new items are like."""
    tables = _tables(dataset, asked, model.raw_items.device.type)
    if others:
        opinions = _opinions(others)
        tables = {kind: [*some, opinions] for kind, some in tables.items()}
    of_new: dict[Kind, list[Any]] = {kind: [] for kind in tables}
    if alike is not None and alike.nnz:
        for kind, some in tables.items():
            of_new[kind] = [strongest(part, MOST) for table in some for part in spread_to(table, alike)]
    place = _Places([table for side in (tables, of_new) for some in side.values() for table in some])
    amounts = np.zeros((len(KINDS), len(place.targets)), dtype=np.float32)
    chosen: dict[Kind, Choice] = {}
    for at, kind in enumerate(KINDS):
        if kind in asked and len(asked[kind].queries):
            values = [[place.values(table) for table in side[kind]] for side in (tables, of_new)]
            chosen[kind], amounts[at] = _Weighing(model, asked[kind], place).best(*values)
    return place.evidence(amounts).to(model.raw_items.device), chosen


# Tables ------------------------------------------------------------------------------------------------------------


def _tables(dataset: Dataset, asked: Mapping[Kind, Questions], device: str) -> dict[Kind, list[Any]]:
    """(N, N) sparse, with numbers around 1. Where sets run against the links, theirs are of the links reversed."""
    regression = _regression(dataset, asked, device)
    cosine = row_cosine.RowCosine(power=4.0).fit(dataset)
    low = _of_kind(dataset, [regression.low, cosine.low], False, device)
    if not dataset.sets_run_backwards:
        return {"low": low, "high": low}
    return {"low": low, "high": _of_kind(dataset, [regression.high, cosine.high], True, device)}


def _regression(dataset: Dataset, asked: Mapping[Kind, Questions], device: str) -> ease.Ease:
    """Links are much alike; how far to trust a count of orders depends on the shop, and validation says it."""
    if dataset.baskets() is None:
        return ease.Ease(beside=0.5, device=device).fit(dataset)
    best, found = None, -1.0
    for strength in STRENGTHS:
        made = ease.Ease(strength, device=device).fit(dataset)
        mrr = [mean_mrr(made.scores, queries, dataset.items) for queries in asked.values()]
        if best is None or np.prod(mrr) > found:
            best, found = made, float(np.prod(mrr))
    assert best is not None  # noqa: S101  there is always one to try
    return best


def _of_kind(dataset: Dataset, learnt: list[Any], reverse: bool, device: str) -> list[Any]:
    tables = [_pruned(one.largest, dataset.items) for one in learnt]
    if dataset.baskets() is not None:  # orders have told how often, which is more than whether
        return tables
    views = matrix(dataset.graph().links[Relation.CO_VIEW], dataset.items).astype(np.float32)
    viewed, bought, sold = either_way(views), co_purchases(dataset, reverse), co_purchases(dataset, not reverse)
    linked = either_way(bought)
    neighbours = scaled(linked, 1.0)  # a neighbour of many says less
    steps: list[Any] = [partial(_through, scaled(viewed, 1.0), bought), partial(_through, linked, neighbours)]
    predicted = [one.largest for one in both_ways(dataset, reverse, device)]
    return [*(_pruned(one, dataset.items) for one in (*predicted, *steps)), *tables, bought, sold, viewed]


def _through(first: Any, second: Any, items: Any, most: int) -> Any:
    """What items (B, N) are linked with by way of another, the largest."""
    return strongest(items @ first @ second, most)


def _opinions(models: Sequence[LogiRec]) -> Any:
    """How likely models have it that one item goes with another, by the mean of their logarithms; the largest."""
    items, parts = models[0].items, []
    step = max(1, TILE // items)
    for first in range(0, items, step):
        mine = np.arange(first, min(first + step, items))
        baskets = Ragged(np.arange(len(mine) + 1), mine)
        means = torch.stack([Scorer(model).scores(baskets).log_softmax(1) for model in models]).mean(0)
        means[torch.arange(len(mine)), torch.from_numpy(mine)] = -torch.inf
        values, places = means.softmax(1).topk(min(MOST, items), dim=1)
        starts = np.arange(len(mine) + 1) * values.shape[1]
        flat = (values.cpu().numpy().ravel(), places.cpu().numpy().ravel(), starts)
        parts.append(sparse.csr_array(flat, (len(mine), items)))
    return _around_one(sparse.vstack(parts, format="csr"))


def _around_one(table: Any) -> Any:
    best = np.abs(strongest(table, 1).data)
    return table / np.float32(np.median(best) if len(best) else 1)


def _pruned(largest: Callable[[Any, int], Any], items: int) -> Any:
    """The largest numbers of each item alone."""
    parts, step = [], max(1, TILE // min(items, ease.MOST_ITEMS))
    for first in range(0, items, step):
        mine = np.arange(first, min(first + step, items))
        alone = sparse.csr_array((np.ones(len(mine), np.float32), mine, np.arange(len(mine) + 1)), (len(mine), items))
        parts.append(largest(alone, MOST + 1))  # and itself
    whole = sparse.vstack(parts, format="csr")
    whole.setdiag(0)
    whole = strongest(whole, MOST)
    whole.eliminate_zeros()
    return _around_one(whole)


class _Places:
    """All (row, column) where a table has something, in order."""

    def __init__(self, tables: list[Any]) -> None:
        self.items = tables[0].shape[0]
        self.keys = np.unique(np.concatenate([self._keys(table) for table in tables]))
        self.targets = (self.keys % self.items).astype(np.int32)
        counts = np.bincount(self.keys // self.items, minlength=self.items)
        self.starts = np.concatenate([[0], np.cumsum(counts)])

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
        return Evidence(*(torch.from_numpy(array) for array in (self.starts, self.targets, amounts)))

    def sums(self, baskets: Ragged, columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Over the members of each basket: owners (S,), rows (S,) and the sums of each column (S, F)."""
        asked = members(baskets, self.items)
        starts = self.starts[asked.indices]
        lengths = self.starts[asked.indices + 1] - starts
        at = np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
        owners = np.repeat(np.repeat(np.arange(len(baskets)), np.diff(asked.indptr)), lengths)
        keys = owners * self.items + self.targets[at]
        order = np.argsort(keys, kind="stable")
        found, first = np.unique(keys[order], return_index=True)
        if not len(found):
            return found, found, np.zeros((0, len(columns)), np.float32)
        sums = np.stack([np.add.reduceat(column[at[order]], first) for column in columns], axis=1)
        return found // self.items, found % self.items, sums


# Weights -----------------------------------------------------------------------------------------------------------


class _Weighing:
    """Of the tables, for one kind of query."""

    def __init__(self, model: LogiRec, asked: Questions, place: _Places) -> None:
        self.model, self.asked, self.place = model, asked, place

    def best(self, tables: list[np.ndarray], of_new: list[np.ndarray]) -> tuple[Choice, np.ndarray]:
        """The form that ranks best what it was not fitted to, fitted to all; nothing where the model is best alone."""
        alone = self._mrr(None, self.asked)
        choice, chosen = Choice("none", alone, alone), None
        if len(self.asked.queries) < 2:
            return choice, np.zeros_like(tables[0])
        halves = [_take(self.asked, np.arange(first, len(self.asked.queries), 2)) for first in (0, 1)]

        def attempt(name: str, form: Form, tables: list[np.ndarray]) -> None:
            nonlocal choice, chosen
            fit = partial(self._fit, form, tables)
            fitted = [fit(half) for half in halves]
            found = float(np.mean([self._mrr(fitted[at], halves[1 - at]) for at in (0, 1)]))
            if found > WORTH_IT * choice.valid_mrr:
                choice, chosen = Choice(name, found, alone), fit

        for name, form in FORMS.items():
            attempt(name, form, tables)
        if of_new:
            name = choice.form if choice.form in FORMS else next(iter(FORMS))
            attempt(f"{name}, new items too", FORMS[name], tables + of_new)
        return choice, np.zeros_like(tables[0]) if chosen is None else chosen(self.asked)

    def _mrr(self, amounts: np.ndarray | None, asked: Questions) -> float:
        evidence = None if amounts is None else self.place.evidence(np.stack([amounts, amounts]))
        if evidence is not None:
            evidence = evidence.to(self.model.raw_items.device)
        return mean_mrr(Scorer(self.model, evidence).scores, asked, self.place.items)

    def _fit(self, form: Form, tables: list[np.ndarray], asked: Questions) -> np.ndarray:
        columns = [curve(table).astype(np.float32) for table in tables for curve in form.curves]
        return self._amounts(columns, form.model, asked)

    def _amounts(self, columns: list[np.ndarray], model: bool, asked: Questions) -> np.ndarray:
        weights = self._weights(columns, model, asked).numpy()
        amounts = np.zeros_like(columns[0])
        for weight, column in zip(weights, columns, strict=True):
            amounts += weight * column
        return amounts

    def _weights(self, columns: list[np.ndarray], model: bool, asked: Questions) -> Tensor:
        """That make the answers of a query likely, taken together, among all that could be shown."""
        step = max(1, TILE // self.place.items)
        starts = range(0, len(asked.queries), step)
        parts = [self._seen(columns, asked, np.arange(n, min(n + step, len(asked.queries)))) for n in starts]
        seen, wanted, rest = zip(*parts, strict=True)
        sizes = torch.from_numpy(asked.queries.members.lengths)
        return _fitted(_joined(seen), _Rest(*map(torch.cat, zip(*rest, strict=True))), _joined(wanted), sizes, model)

    def _seen(
        self, columns: list[np.ndarray], asked: Questions, some: np.ndarray
    ) -> tuple["_Scored", "_Scored", "_Rest"]:
        """Of some of the queries: what has evidence, the answers, and the rest."""
        part = _take(asked, some)
        queries = part.queries
        owners, rows, sums = map(torch.from_numpy, self.place.sums(queries.members, columns))
        own = Scorer(self.model).scores(queries.members).float().cpu()
        answers = torch.zeros(own.shape, dtype=torch.bool)
        answers[_where(queries.answers)] = True
        filtered = torch.zeros_like(answers)
        filtered[_where(part.filters)] = True
        own.masked_fill_(filtered & ~answers, FAR)
        seen = _Scored(owners, own[owners, rows], sums)
        wanted = seen.where(answers[owners, rows])
        answers[owners, rows] = False
        others, places = answers.nonzero(as_tuple=True)
        unseen = _Scored(others, own[others, places], torch.zeros(len(others), len(columns)))
        own[owners, rows] = FAR  # what is left has no evidence
        return seen.where(seen.own > FAR).after(some[0]), _joined((wanted, unseen)).after(some[0]), _counted(own)


class _Scored(NamedTuple):
    """Items of each query, with the model's scores and with evidence."""

    owners: Tensor  # (S,) queries
    own: Tensor  # (S,)
    features: Tensor  # (S, F)

    def at(self, scale: Tensor, weights: Tensor, certainty: Tensor) -> Tensor:
        return (scale * self.own + self.features @ weights) * certainty[self.owners]

    def where(self, mask: Tensor) -> "_Scored":
        return _Scored(*(part[mask] for part in self))

    def after(self, queries: int) -> "_Scored":
        """With so many other queries before these."""
        return self._replace(owners=self.owners + queries)


def _joined(parts: Sequence[_Scored]) -> _Scored:
    return _Scored(*map(torch.cat, zip(*parts, strict=True)))


class _Rest(NamedTuple):
    """What has no evidence: many items, of which only the sum of what they weigh matters."""

    own: Tensor  # (B, BINS) the mean score of the items that were counted together
    many: Tensor  # (B, BINS) the logarithm of how many


def _counted(own: Tensor) -> _Rest:
    """Of scores (B, N), where there is no more than FAR nothing is counted."""
    there = own > FAR
    low = own.masked_fill(~there, torch.inf).amin(1, keepdim=True).nan_to_num(posinf=0)
    wide = (own.amax(1, keepdim=True) - low).clamp(min=1e-6)
    place = ((own - low) / wide * (BINS - 1)).round_().clamp_(0, BINS - 1).long()
    zeros = own.new_zeros(len(own), BINS)
    count = zeros.scatter_add(1, place, there.to(own))
    sums = zeros.scatter_add(1, place, torch.where(there, own, 0))
    return _Rest(sums / count.clamp(min=1), torch.where(count > 0, count.log(), FAR))


def _fitted(seen: _Scored, rest: _Rest, answers: _Scored, sizes: Tensor, model: bool) -> Tensor:
    """(F,) weights, beside 1 for the model's own scores. The rest has those alone.

    Baskets of different sizes are sure to different degrees, which changes no ranking: each size has its own.
    """
    group = torch.bucketize(sizes, torch.tensor(SIZES))
    scale = torch.tensor(USUAL_SCALE, requires_grad=True) if model else torch.tensor(-torch.inf)
    weights = torch.zeros(seen.features.shape[1], requires_grad=True)
    sure = torch.zeros(len(SIZES) + 1, requires_grad=True)
    parameters = [weights, sure, *([scale] if model else [])]
    solver = torch.optim.LBFGS(parameters, max_iter=STEPS, tolerance_change=CLOSE_ENOUGH, line_search_fn="strong_wolfe")
    nothing = torch.full((len(rest.own), 1), FAR)

    def loss() -> Tensor:
        solver.zero_grad()
        given = LEAST_SCALE + scale.exp(), weights, (sure - sure[group].mean()).exp()[group]
        everything = _log_sum(given[0] * rest.own * given[2][:, None] + rest.many, seen.at(*given), seen.owners)
        wanted = _log_sum(nothing, answers.at(*given), answers.owners)
        far = (scale - USUAL_SCALE).square() if model else 0  # else a model that knows nothing may run away with it
        value = (everything - wanted).mean() + RIDGE * (weights.square().sum() + sure.square().sum() + far)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    solver.step(loss)  # type: ignore[no-untyped-call]
    found = (weights / (LEAST_SCALE + scale.exp())).detach()
    return found if found.isfinite().all() else torch.zeros_like(found)  # a search that went astray says nothing


def _log_sum(table: Tensor, entries: Tensor, owners: Tensor) -> Tensor:
    """(B,) logsumexp of the rows of a table (B, N), each with its entries (S,)."""
    most = table.detach().amax(1).scatter_reduce(0, owners, entries.detach(), "amax")
    sums = (table - most[:, None]).exp().sum(1).index_add(0, owners, (entries - most[owners]).exp())
    return sums.log() + most


def _take(asked: Questions, places: np.ndarray) -> Questions:
    return Questions(asked.queries.take(places), asked.filters.take(places))


def _where(lists: Ragged) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(lists.owners.astype(np.int64)), torch.from_numpy(lists.values.astype(np.int64))
