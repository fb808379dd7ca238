"""What a recommender works with: the model, its index, its items and their known links."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from logirec.index.exact import ExactIndex
from logirec.logic.beta import Beta
from logirec.model.artifact import TrainedModel
from logirec.model.confidence import Curve
from logirec.model.reasoning import Meeting, embed_queries
from logirec.relation import Relation


class Shelf:
    def __init__(self, trained: TrainedModel) -> None:
        self.model, self.catalogue, self.curves = trained.model, trained.catalogue, trained.curves
        self.vocabulary = trained.vocabulary
        self.index = ExactIndex(trained.model)
        self.items = len(trained.catalogue)
        self.device = self.index.weights.device
        self.bought = trained.links[Relation.CO_PURCHASE]
        self.bought_by = self.bought.reversed(self.items)
        views = trained.links[Relation.CO_VIEW]
        self.viewed = (views, views.reversed(self.items))

    def rows(self, item_ids: Iterable[str]) -> tuple[int, ...]:
        return tuple(self.vocabulary.rows(list(item_ids)).tolist())

    def scores(self, meetings: Sequence[Meeting], relations: Sequence[Relation]) -> Tensor:
        """(B, N): all items for each query."""
        queries = embed_queries(self.model, meetings)
        table = self.index.weights.new_empty(len(meetings), self.items)
        for relation in set(relations):
            mine = [at for at, found in enumerate(relations) if found == relation]
            table[mine] = self.index.scores(Beta(*(part[mine] for part in queries)), relation)
        return table

    def scores_of(self, meetings: Sequence[Meeting], relation: Relation, rows: Sequence[int]) -> Tensor:
        """(B, K): the same few items for each query."""
        queries = embed_queries(self.model, meetings)
        wanted = torch.tensor(rows, device=self.device).expand(len(meetings), len(rows))
        return self.index.scores_of(queries, relation, wanted)

    def substitutes(self, basket: Iterable[int]) -> dict[int, int]:
        """Known substitutes of the basket -> the item that each is viewed with."""
        return {int(other): row for row in basket for links in self.viewed for other in links.of(row)}

    def bought_with_all(self, basket: Sequence[int]) -> set[int]:
        """What is known to be bought with every item of the basket."""
        return set.intersection(*({*self.bought.of(row).tolist()} for row in basket))

    def has_evidence(self, basket: Iterable[int]) -> bool:
        return any(len(links.of(row)) for row in basket for links in (self.bought, self.bought_by))

    def curve(self, basket: Sequence[int]) -> Curve | None:
        return self.curves.get("low" if len(basket) == 1 else "high") or next(iter(self.curves.values()), None)
