"""What training data says of pairs of items, as sparse tables with numbers around 1.

Nine tables say something of a pair: how likely links, views and words of the one have it that it is bought with the
other, and those of the other that it is bought with the one (regression), how well what one is bought with predicts the
other (EASE), what items like it are bought with (row cosine), what those viewed with it are bought with, how many
neighbours the two share, and whether the pair is linked, linked the other way, or viewed together. Of orders there are
two, EASE and row cosine. One more is what models think of it, where there are any.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from scipy import sparse

from logirec.baselines import ease, row_cosine
from logirec.baselines.rows import co_purchases, either_way, scaled, strongest
from logirec.data.dataset import Dataset
from logirec.data.graph import matrix, standing
from logirec.data.query_sets import Kind, Ragged
from logirec.evaluation.evaluate import Questions, mean_mrr
from logirec.evidence.regression import both_ways
from logirec.evidence.weighing import WORTH_IT
from logirec.index.scorer import Scorer
from logirec.model.logirec import LogiRec
from logirec.relation import Relation

MOST = 200  # items kept of each item's row in a table
TILE, ROWS = 1 << 24, 256  # numbers held at once, and rows worked on at once at least
FADE = 0.5  # how much less an item's weakest link may count than its strongest
STRENGTHS = (3.0, 1.0, 10.0, 30.0)  # regularisations of EASE that are tried on orders
BOUGHT = "bought"  # the links themselves
OPINIONS = "opinions"  # what models think
ORDERS = "ease of orders"  # which says what links do not, and counts otherwise
WORDS = 0.7  # how much a word that items share counts beside an order that they share
TELLING = 4_000  # queries of a kind that say which EASE is best: each EASE ranks them all
NEAR = 0.55  # how much lines of an order that stand near each other count beside the order

Tables = dict[str, Any]  # name -> (N, N) sparse


def tables_of(dataset: Dataset, how: ease.Ease, voices: Sequence[LogiRec] = ()) -> dict[Kind, Tables]:
    """`how`: EASE, fitted. `voices`: models whose opinions are asked for.

    Where sets run against the links, theirs are of links reversed."""
    learnt: dict[str, Any] = {
        ORDERS if dataset.baskets() is not None else "ease": how,
        "row cosine": row_cosine.RowCosine(power=4.0, fade=how.fade).fit(dataset),
    }
    opinions = {OPINIONS: _opinions(voices)} if voices else {}
    of_kind = partial(_of_kind, dataset, how.device, how.fade)
    low = of_kind({name: one.low for name, one in learnt.items()}, reverse=False) | opinions
    if not dataset.sets_run_backwards:
        return {"low": low, "high": low}
    return {"low": low, "high": of_kind({name: one.high for name, one in learnt.items()}, reverse=True) | opinions}


def best_ease(dataset: Dataset, asked: Mapping[Kind, Questions], device: str) -> ease.Ease:
    """How far to trust a count of orders, and whether the order of its lines, or of an item's links, says anything,
    depends on the shop: validation tells. Of links its single items do: a set's known links speak for themselves."""

    few = {kind: some.thinned(TELLING) for kind, some in asked.items()}

    def mrr(one: ease.Ease, kinds: Sequence[Kind]) -> float:
        return float(np.prod([mean_mrr(one.scores, few[kind], dataset.items) for kind in kinds]))

    if dataset.baskets() is not None:
        near, kinds = 0.0 if dataset.lines() is None else NEAR, list(asked)
        tried = (ease.Ease(strength, words=WORDS, near=near, device=device).fit(dataset) for strength in STRENGTHS)
        found, best = max(((mrr(one, kinds), one) for one in tried), key=itemgetter(0))
        if not near:
            return best
        plain = ease.Ease(best.regularization, words=WORDS, device=device).fit(dataset)
        return plain if mrr(plain, kinds) > WORTH_IT * found else best
    plain = ease.Ease(beside=0.5, device=device).fit(dataset)
    if not asked or not _in_order(dataset):
        return plain
    first = list(asked)[:1]
    faded = ease.Ease(beside=0.5, fade=FADE, device=device).fit(dataset)
    return faded if mrr(faded, first) > WORTH_IT * mrr(plain, first) else plain


def _in_order(dataset: Dataset) -> bool:
    """Whether some of an item's links are stronger than others."""
    return bool(standing(dataset.graph().links[Relation.CO_PURCHASE], dataset.items).any())


def _of_kind(dataset: Dataset, device: str, fade: float, learnt: Tables, reverse: bool) -> Tables:
    tables = {name: _pruned(one.largest, dataset.items) for name, one in learnt.items()}
    if dataset.baskets() is not None:  # orders have told how often, which is more than whether
        return tables
    views = matrix(dataset.graph().links[Relation.CO_VIEW], dataset.items).astype(np.float32)
    viewed, bought, sold = either_way(views), co_purchases(dataset, reverse), co_purchases(dataset, not reverse)
    linked = either_way(bought)
    neighbours = scaled(linked, 1.0)  # a neighbour of many says less
    forward, backward = both_ways(dataset, reverse, device, fade)
    faded = co_purchases(dataset, reverse, fade)
    made: dict[str, Callable[[Any, int], Any]] = {
        "regression": forward.largest,
        "regression backwards": backward.largest,
        "past views": partial(_through, scaled(viewed, 1.0), faded),
        "shared neighbours": partial(_through, linked, neighbours),
    }
    tables |= {name: _pruned(one, dataset.items) for name, one in made.items()}
    return tables | {BOUGHT: bought, "sold": sold, "viewed": viewed}


def _through(first: Any, second: Any, items: Any, most: int) -> Any:
    """What items (B, N) are linked with by way of another, the largest."""
    return strongest(items @ first @ second, most)


def _opinions(models: Sequence[LogiRec]) -> Any:
    """How likely models have it that one item goes with another, by the mean of their logarithms; the largest."""
    items, parts, asked = models[0].items, [], [Scorer(model).scores for model in models]
    step = max(1, TILE // items)
    for first in range(0, items, step):
        mine = np.arange(first, min(first + step, items))
        baskets = Ragged(np.arange(len(mine) + 1), mine)
        means = torch.stack([scores(baskets).log_softmax(1) for scores in asked]).mean(0)
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
    parts, step = [], max(ROWS, TILE // items)
    for first in range(0, items, step):
        mine = np.arange(first, min(first + step, items))
        alone = sparse.csr_array((np.ones(len(mine), np.float32), mine, np.arange(len(mine) + 1)), (len(mine), items))
        parts.append(largest(alone, MOST + 1))  # and itself
    whole = sparse.vstack(parts, format="csr")
    whole.setdiag(0)
    whole = strongest(whole, MOST)
    whole.eliminate_zeros()
    return _around_one(whole)
