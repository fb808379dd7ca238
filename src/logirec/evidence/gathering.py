"""Dataset and trained model -> the evidence that is added to the model's scores.

How much each table of it counts (tables.py) is learnt on validation (weighing.py), for single items and for sets apart.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import torch

from logirec.baselines import ease
from logirec.data.dataset import Dataset
from logirec.data.query_sets import KINDS, Kind
from logirec.evaluation.evaluate import Questions
from logirec.evidence.places import amounts
from logirec.evidence.sources import Sources, sources_of
from logirec.evidence.tables import OPINIONS, Tables, best_ease
from logirec.evidence.usual import USUAL
from logirec.evidence.weighing import FORMS, FORMS_OF_ORDERS, SURELY, WORTH_IT, Choice, Weighing
from logirec.model.evidence import Evidence
from logirec.model.logirec import LogiRec

ROWS = 8_192  # items whose evidence is made at once


class Gathered(NamedTuple):
    evidence: Evidence
    chosen: dict[Kind, Choice]
    weights: dict[Kind, np.ndarray]  # (tables, curves)
    how: ease.Ease  # as validation chose it


def gathered(
    model: LogiRec,
    dataset: Dataset,
    asked: Mapping[Kind, Questions],
    alike: Any = None,
    voices: Sequence[LogiRec] = (),
    filtered: bool = True,
) -> Gathered:
    """For a model that has no evidence yet; `asked` are validation's queries. `alike`: what new items are like;
    `voices`: models whose opinions are evidence (`heard`).

    `filtered`: what is known is not ranked, as usual: weights are near what they usually are; for sets see `said`."""
    device = model.raw_items.device
    how = best_ease(dataset, asked, device.type)
    sources = sources_of(dataset, how, alike, voices)
    forms, surely = (FORMS, 0.0) if dataset.baskets() is None else (FORMS_OF_ORDERS, SURELY)
    chosen: dict[Kind, Choice] = {}
    weights: dict[Kind, np.ndarray] = {}
    for kind in KINDS:
        if kind in asked and len(asked[kind].queries):
            some = sources.about(np.unique(asked[kind].queries.members.values))
            place, tables = some.places(), some.tables[kind]
            weighing = Weighing(model, asked[kind], place, some.new, forms, surely)
            expected = _usual(kind, tables) if filtered else None
            chosen[kind], weights[kind] = _weighed(
                weighing, some.numbers(place, kind, filtered), list(tables), expected
            )
    return Gathered(_made(sources, weights, filtered).to(device), chosen, weights, how)


def _weighed(
    weighing: Weighing, numbers: list[np.ndarray], names: list[str], usual: np.ndarray | None
) -> tuple[Choice, np.ndarray]:
    """`numbers` of tables with these names, then of new items. Opinions, of which it is not known what they usually
    count, must be worth it."""
    known, of_new = numbers[: len(names)], numbers[len(names) :]
    best = weighing.best(known, of_new, usual)
    if usual is not None or OPINIONS not in names:
        return best
    place = names.index(OPINIONS)
    choice, weights = weighing.best(known[:place] + known[place + 1 :], of_new, usual)
    if best[0].valid_mrr > WORTH_IT * choice.valid_mrr:
        return best
    return choice, np.insert(weights, min(place, len(weights)), 0.0, axis=0)


def again(
    found: Gathered, dataset: Dataset, alike: Any = None, voices: Sequence[LogiRec] = (), filtered: bool = True
) -> Evidence:
    """The same evidence from a dataset that knows more: its tables, weighed as before."""
    sources = sources_of(dataset, copy(found.how).fit(dataset), alike, voices)
    return _made(sources, found.weights, filtered).to(found.evidence.starts.device)


def heard(models: Sequence[LogiRec], dataset: Dataset) -> Sequence[LogiRec]:
    """Whose opinion of single items is evidence: that of the models beside the first. With orders its own too: what
    each member of a basket calls for adds up there, and the model's query for a set is a mean of its members."""
    return models if dataset.baskets() is not None else models[1:]


def _made(sources: Sources, weights: Mapping[Kind, np.ndarray], filtered: bool) -> Evidence:
    """Some items after the other. A kind that validation had nothing to say of is as the other."""
    parts, items = [], len(sources.new)
    for first in range(0, items, ROWS):
        mine = np.arange(first, min(first + ROWS, items))
        some = sources.about(mine)
        place = some.places()
        made = {kind: amounts(some.numbers(place, kind, filtered), weights[kind]) for kind in weights}
        other = next(iter(made.values()), np.zeros(len(place.targets), dtype=np.float32))
        both = np.stack([made.get(kind, other) for kind in KINDS])
        parts.append((np.diff(place.starts)[mine], place.targets, both, place.viewed))
    lengths, targets, numbers, viewed = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return Evidence(*map(torch.from_numpy, (starts, targets, numbers, viewed)))


def _usual(kind: Kind, tables: Tables) -> np.ndarray | None:
    found = USUAL[kind]
    return np.array([found[name] for name in tables]) if tables.keys() <= found.keys() else None
