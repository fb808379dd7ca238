"""What a recommender works with: the model, its index, its items and their known links."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

import torch

from logirec.errors import InputError
from logirec.index.scan import Index, Scan
from logirec.logic.beta import positive
from logirec.memory import give_back_memory
from logirec.model.artifact import TrainedModel
from logirec.model.confidence import Curve, uncertainty
from logirec.model.evidence import Support
from logirec.model.reasoning import Meeting, Reasoning, looked_up, padded
from logirec.model.tensors import let_go, slices
from logirec.relation import Relation


class Heights(NamedTuple):
    """Of each query's own items: raw scores of two queries cannot be compared, how high items stand can."""

    whole: list[list[float]]  # standard deviations above the mean of all items
    evidence: list[list[float]]  # how much of that is evidence


class Known(NamedTuple):
    """What links say of a query without a model."""

    right: set[int]  # it is what every part of the query asks for
    wrong: set[int]  # it is what a NOT is about


class Shelf:
    def __init__(self, trained: TrainedModel, index: Index) -> None:
        self.model, self.catalogue, self.curves = trained.model, trained.catalogue, trained.curves
        self.vocabulary = trained.vocabulary
        self.index = index
        self.items = len(trained.catalogue)
        self.device = trained.model.raw_items.device
        self.bought = trained.links[Relation.CO_PURCHASE]
        self.bought_by = self.bought.reversed(self.items)
        self.uncertainty: list[float] = []
        for part in slices(self.items):
            raw = trained.model.raw_items[part]
            self.uncertainty += uncertainty(positive(raw)).tolist()
            let_go(raw)
        views = trained.links[Relation.CO_VIEW]
        self.viewed = (views, views.reversed(self.items))
        self.knows_views = len(views.targets) > 0  # else nobody has said what a substitute is
        give_back_memory()

    def rows(self, item_ids: Iterable[str]) -> tuple[int, ...]:
        return tuple(self.vocabulary.rows(list(item_ids)).tolist())

    def reason(self, meetings: Iterable[Meeting]) -> Reasoning:
        """All queries of a batch go through the networks together."""
        return Reasoning(self.model, meetings)

    def scan(
        self, reasoning: Reasoning, meetings: Sequence[Meeting], relations: Sequence[Relation], depth: int
    ) -> Scan:
        """The best items of each query."""
        return self.index.scan(reasoning.of(meetings), relations, depth, self._support(meetings))

    def _support(self, meetings: Sequence[Meeting], several: Sequence[bool] | None = None) -> Support | None:
        if self.model.evidence is None:
            return None
        among = None if several is None else torch.tensor(several, device=self.device)
        return self.model.evidence.of(*looked_up(meetings, self.device), among)

    def scores_of(
        self,
        reasoning: Reasoning,
        meetings: Sequence[Meeting],
        relations: Sequence[Relation],
        rows: Sequence[Sequence[int]],
    ) -> list[list[float]]:
        """For each query the scores of its own items."""
        wanted, _ = padded(rows, self.device)
        found = self.index.scores_of(reasoning.of(meetings), relations, wanted, self._support(meetings))
        scores: list[list[float]] = found.tolist()
        return scores

    def heights_of(
        self,
        reasoning: Reasoning,
        meetings: Sequence[Meeting],
        relations: Sequence[Relation],
        rows: Sequence[Sequence[int]],
        several: Sequence[bool],
        rulers: Sequence[int],
    ) -> Heights:
        """`several`: evidence as that of an item among several, though a part may be asked about alone. `rulers`: the
        query by whose deviation evidence is measured: else the same amount differs where another query is sharper."""
        if not meetings:
            return Heights([], [])
        asked = list(zip(meetings, relations, map(tuple, rows), several, strict=True))
        places = {
            one: at for at, one in enumerate(dict.fromkeys(asked))
        }  # of two items, each alone is without the other
        meetings, relations, rows, several = zip(*places, strict=True)
        queries, support = reasoning.of(meetings), self._support(meetings, several)
        wanted, _ = padded(rows, self.device)
        above, deviation = self.index.heights(queries, relations, wanted)
        counted = torch.zeros_like(above) if support is None else support.at(wanted)
        at = torch.tensor([places[one] for one in asked], device=self.device)
        counted = counted[at] / deviation[at[list(rulers)], None]
        return Heights((above[at] + counted).tolist(), counted.tolist())

    def substitutes(self, basket: Iterable[int]) -> dict[int, int]:
        """Known substitutes of the basket -> the item that each is viewed with."""
        return {other: row for row in basket for links in self.viewed for other in links.of(row)}

    def in_categories(self, names: Sequence[str]) -> set[int]:
        found = {row for name in names for row in self.catalogue.rows_of_category.get(name, ())}
        if not found:
            near = get_close_matches(next(iter(names), ""), self.catalogue.rows_of_category, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(f"no item has one of these categories{meant}")
        return found

    def known(self, meeting: Meeting) -> Known:
        held: list[set[int]] = []
        missed: set[int] = set()
        for operand in meeting:
            links = (self.bought,) if operand.relation == Relation.CO_PURCHASE else self.viewed
            linked = set.intersection(*({other for some in links for other in some.of(row)} for row in operand.rows))
            if operand.negated:
                missed |= linked
            else:
                held.append(linked)
        return Known(set.intersection(*held) - missed, missed)

    def has_evidence(self, basket: Sequence[int]) -> bool:
        """A link; of orders, which say more than the links that were made of them, anything."""
        if any(len(links.of(row)) for row in basket for links in (self.bought, self.bought_by)):
            return True
        curve, evidence = self.curve(basket), self.model.evidence
        if curve is None or curve.knows or evidence is None:
            return False
        return any(evidence.starts[row] < evidence.starts[row + 1] for row in basket)

    def curve(self, basket: Sequence[int]) -> Curve | None:
        return self.curves.get("low" if len(basket) == 1 else "high") or next(iter(self.curves.values()), None)
