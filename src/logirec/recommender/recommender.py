"""The recommender: a basket or a query in, the best items out."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from logirec.errors import InputError, LogiRecError, UnknownItems
from logirec.index.exact import best_of
from logirec.model.artifact import TrainedModel
from logirec.model.confidence import uncertainty
from logirec.query import Query
from logirec.recommender.answers import Answer, Direction, Recommendation, Request
from logirec.recommender.asking import Asked, Branch, look_up
from logirec.recommender.reasons import Ranked, reasons, removed
from logirec.recommender.shelf import Shelf


class Recommender:
    def __init__(self, trained: TrainedModel) -> None:
        self.trained, self.shelf = trained, Shelf(trained)

    @classmethod
    def load(cls, folder: str | Path, device: str = "cpu") -> "Recommender":
        return cls(TrainedModel.load(folder, device))

    def recommend(
        self,
        basket: Sequence[str] = (),
        top_k: int = 10,
        query: Query | None = None,
        without_substitutes: bool = True,
        exclude: Sequence[str] = (),
        categories: Sequence[str] | None = None,
        explain: bool = True,
    ) -> Answer:
        """Order and repeats in a basket do not matter. Items that are not known are named in the answer."""
        request = Request(basket, top_k, query, without_substitutes, exclude, categories, explain)
        return self.recommend_many([request])[0]

    def recommend_many(self, requests: Sequence[Request]) -> list[Answer]:
        """A batch goes through the network and the catalogue together; each answer is what it would be alone."""
        return list(self._answers([look_up(request, self.shelf) for request in requests]))

    def attempt_many(self, requests: Sequence[Request]) -> list[Answer | LogiRecError]:
        """The same, with an error in the place of each request that cannot be answered."""
        asked: list[Asked | LogiRecError] = []
        for request in requests:
            try:
                asked.append(look_up(request, self.shelf))
            except LogiRecError as error:
                asked.append(error)
        answers = self._answers([one for one in asked if isinstance(one, Asked)])
        return [next(answers) if isinstance(one, Asked) else one for one in asked]

    def _answers(self, asked: Sequence[Asked]) -> Iterator[Answer]:
        branches = [branch for one in asked for branch in one.branches]
        if not branches:
            return
        with torch.no_grad():
            table = self.shelf.scores([b.meeting for b in branches], [b.relation for b in branches])
            parts = table.split_with_sizes([len(one.branches) for one in asked])
            for one, part in zip(asked, parts, strict=True):
                yield self._answer(one, part)

    def direction(self, first: str, second: str) -> Direction:
        """How well the second goes with the first, and the first with the second."""
        forward, backward = self._pair(first, second), self._pair(second, first)
        return Direction(first, second, forward.score, backward.score, forward.confidence, backward.confidence)

    def _pair(self, source: str, target: str) -> Recommendation:
        if target not in self.shelf.vocabulary:
            raise UnknownItems([target])
        everything = self.recommend([source], self.shelf.items, without_substitutes=False, explain=False)
        for found in everything:
            if found.item_id == target:
                return found
        raise InputError("a direction is between two different items")

    def _answer(self, asked: Asked, scores: Tensor) -> Answer:
        """Scores (branches, N)."""
        shelf, request = self.shelf, asked.request
        open_ = self._banned(asked)
        banned = open_.clone()
        if request.without_substitutes:
            banned[list(shelf.substitutes(asked.basket))] = True
        ranked = self._best(asked, scores, banned)
        why = reasons(shelf, asked, ranked) if request.explain else {}
        rows = torch.tensor([one.row for one in ranked], dtype=torch.int64, device=shelf.device)
        spread = uncertainty(shelf.model.embed(rows)).tolist()
        found = []
        for at, one in enumerate(ranked):
            item = shelf.catalogue.item(one.row)
            words = (item.item_id, item.title, item.brand, item.category)
            found.append(Recommendation(*words, at + 1, one.score, one.confidence, spread[at], why.get(one.row)))
        gone = removed(shelf, asked, list(scores), open_, ranked) if request.explain else ()
        return Answer(str(asked.query), tuple(found), asked.unknown, gone, not shelf.has_evidence(asked.basket))

    def _banned(self, asked: Asked) -> Tensor:
        """(N,) what the request rules out, substitutes apart."""
        shelf, request = self.shelf, asked.request
        banned = torch.zeros(shelf.items, dtype=torch.bool, device=shelf.device)
        if request.categories is not None:
            banned[:] = True
            banned[[row for name in request.categories for row in shelf.catalogue.rows_of_category.get(name, ())]] = (
                False
            )
        excluded = (item_id for item_id in request.exclude if item_id in shelf.vocabulary)
        banned[[*asked.named, *shelf.rows(excluded)]] = True
        return banned

    def _best(self, asked: Asked, scores: Tensor, banned: Tensor) -> list[Ranked]:
        """Of one branch by score; of several by confidence, each item as the branch has it that is surest of it."""
        top_k = asked.request.top_k
        found = best_of(scores.clone(), top_k, banned)
        best: dict[int, Ranked] = {}
        for at, branch in enumerate(asked.branches):
            real = found.rows[at] >= 0
            rows, values = found.rows[at][real], found.scores[at][real]
            confidence = self._confidence(asked, branch, scores[at], rows.tolist(), values)
            for ranked in map(Ranked, rows.tolist(), [at] * len(rows), values.tolist(), confidence):
                if ranked.row not in best or (ranked.confidence or 0) > (best[ranked.row].confidence or 0):
                    best[ranked.row] = ranked
        if len(asked.branches) == 1:
            return list(best.values())
        return sorted(best.values(), key=lambda one: (-(one.confidence or 0), -one.score, one.row))[:top_k]

    def _confidence(
        self, asked: Asked, branch: Branch, scores: Tensor, rows: Iterable[int], values: Tensor
    ) -> list[float] | list[None]:
        """What is known to be bought with all of the basket is a complement; of the rest, what validation taught."""
        curve = self.shelf.curve(branch.basket)
        if curve is None:
            return [None] * len(values)
        known = self.shelf.bought_with_all(branch.basket)
        open_ = scores.double() * curve.temperature
        open_[[*asked.named, *known]] = -torch.inf  # as on validation, these take no probability from the rest
        learnt = curve.confidence(values, open_.logsumexp(0)).tolist()
        return [1.0 if row in known else sure for row, sure in zip(rows, learnt, strict=True)]
