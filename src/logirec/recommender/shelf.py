"""What a recommender works with: the model, its index, its items and their known links."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from logirec.index.scan import Best, Index, Scan
from logirec.logic.beta import Beta, positive
from logirec.memory import give_back_memory
from logirec.model.artifact import TrainedModel
from logirec.model.confidence import Curve, uncertainty
from logirec.model.evidence import Support
from logirec.model.reasoning import Meeting, attention, bought_for, embed_queries, padded
from logirec.model.tensors import let_go, slices
from logirec.relation import Relation

OFTEN = 256  # queries


class Heights(NamedTuple):
    """Of each query's own items."""

    whole: list[list[float]]
    evidence: list[list[float]]  # how much of that is evidence


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
        self._asked = 0  # since then
        views = trained.links[Relation.CO_VIEW]
        self.viewed = (views, views.reversed(self.items))
        give_back_memory()

    def rows(self, item_ids: Iterable[str]) -> tuple[int, ...]:
        return tuple(self.vocabulary.rows(list(item_ids)).tolist())

    def scan(self, meetings: Sequence[Meeting], relations: Sequence[Relation], depth: int) -> Scan:
        """The best items of each query."""
        self._asked += len(meetings)
        if self._asked > OFTEN:  # by and by the baskets have brought all of the items' own embeddings into memory
            let_go(self.model.raw_items if self.model.anchors is None else self.model.anchors)
            self._asked = 0
        return self.index.scan(embed_queries(self.model, meetings), relations, depth, self._support(meetings))

    def search(self, meeting: Meeting, relation: Relation, top_k: int, forbidden: Tensor) -> Best:
        query, support = embed_queries(self.model, [meeting]), self._support([meeting])
        return self.index.search(query, relation, top_k, forbidden.to(self.device), support)

    def _support(self, meetings: Sequence[Meeting]) -> Support | None:
        if self.model.evidence is None:
            return None
        return self.model.evidence.of(*padded([bought_for(meeting) for meeting in meetings], self.device))

    def scores_of(self, asked: Sequence[tuple[Meeting, Relation]], rows: Sequence[Sequence[int]]) -> list[list[float]]:
        """For each query the scores of its own items."""
        queries, relations, wanted, support = self._few(asked, rows)
        found: list[list[float]] = self.index.scores_of(queries, relations, wanted, support).tolist()
        return found

    def heights_of(self, asked: Sequence[tuple[Meeting, Relation]], rows: Sequence[Sequence[int]]) -> Heights:
        """The same in standard deviations above the mean of all items, so that different queries can be compared."""
        if not asked:
            return Heights([], [])
        queries, relations, wanted, support = self._few(asked, rows)
        mean, deviation = self.index.spread(queries, relations)
        own = (self.index.scores_of(queries, relations, wanted) - mean[:, None]) / deviation[:, None]
        counted = torch.zeros_like(own) if support is None else support.at(wanted) / deviation[:, None]
        return Heights((own + counted).tolist(), counted.tolist())

    def _few(
        self, asked: Sequence[tuple[Meeting, Relation]], rows: Sequence[Sequence[int]]
    ) -> tuple[Beta, list[Relation], Tensor, Support | None]:
        most = max(map(len, rows))
        wanted = torch.tensor([[*some, *[0] * (most - len(some))] for some in rows], device=self.device)
        meetings = [meeting for meeting, _ in asked]
        queries = embed_queries(self.model, meetings)
        return queries, [relation for _, relation in asked], wanted, self._support(meetings)

    def attention(self, baskets: Sequence[Sequence[int]]) -> list[list[float]]:
        """How much the model looked at each item of each basket."""
        sets = [basket for basket in baskets if len(basket) > 1]
        found = iter(attention(self.model, sets) if sets else ())
        return [next(found) if len(basket) > 1 else [1.0] for basket in baskets]

    def substitutes(self, basket: Iterable[int]) -> dict[int, int]:
        """Known substitutes of the basket -> the item that each is viewed with."""
        return {other: row for row in basket for links in self.viewed for other in links.of(row)}

    def in_categories(self, names: Iterable[str]) -> set[int]:
        return {row for name in names for row in self.catalogue.rows_of_category.get(name, ())}

    def bought_with_all(self, basket: Sequence[int]) -> set[int]:
        """What is known to be bought with every item of the basket."""
        return set.intersection(*({*self.bought.of(row)} for row in basket))

    def has_evidence(self, basket: Iterable[int]) -> bool:
        return any(len(links.of(row)) for row in basket for links in (self.bought, self.bought_by))

    def curve(self, basket: Sequence[int]) -> Curve | None:
        return self.curves.get("low" if len(basket) == 1 else "high") or next(iter(self.curves.values()), None)
