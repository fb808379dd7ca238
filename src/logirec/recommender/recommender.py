"""The recommender: a basket or a query in, the best items out."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch

from logirec.errors import InputError, LogiRecError, UnknownItems, UsageError
from logirec.index.approximate import ApproximateIndex
from logirec.index.exact import ExactIndex
from logirec.index.scan import Index
from logirec.model.artifact import TrainedModel
from logirec.query import Query, parse
from logirec.recommender.answers import Answer, Because, Direction, Recommendation, Request
from logirec.recommender.asking import Asked, look_up
from logirec.recommender.ranking import Ranking, rank, standings
from logirec.recommender.reasons import reasons, removed
from logirec.recommender.shelf import Shelf

TABLE = 1 << 25  # scores held at once: a line of the scan has one for each item


class Recommender:
    def __init__(self, trained: TrainedModel, index: Index | None = None) -> None:
        """The index is exact unless another is given."""
        self.trained, self.shelf = trained, Shelf(trained, index or ExactIndex(trained.model, mapped=True))

    @classmethod
    def load(cls, folder: str | Path, device: str = "cpu", approximate: bool = False) -> "Recommender":
        if approximate and torch.device(device).type != "cpu":
            raise UsageError("the approximate index is searched on the CPU; leave out the device, or the index")
        trained = TrainedModel.load(folder, device)
        return cls(trained, ApproximateIndex.read(trained.model, Path(folder)) if approximate else None)

    def recommend(
        self,
        basket: Sequence[str] = (),
        top_k: int = 10,
        query: Query | str | None = None,
        without_substitutes: bool = True,
        exclude: Sequence[str] = (),
        categories: Sequence[str] | None = None,
        explain: bool = True,
    ) -> Answer:
        """Order and repeats in a basket do not matter. Items that are not known are named in the answer."""
        asked = parse(query) if isinstance(query, str) else query
        request = Request(basket, top_k, asked, without_substitutes, exclude, categories, explain)
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
        for some in _slices(asked, TABLE // self.shelf.items):
            with torch.no_grad():
                reasoning = self.shelf.reason(meeting for one in some for meeting in one.meetings)
                rankings = rank(some, self.shelf, reasoning)
                why = reasons(self.shelf, reasoning, some, rankings)
            yield from map(self._answer, some, rankings, why)

    def direction(self, first: str, second: str) -> Direction:
        """How well the second goes with the first, and the first with the second."""
        unknown = [item_id for item_id in (first, second) if item_id not in self.shelf.vocabulary]
        if unknown:
            raise UnknownItems(unknown)
        if first == second:
            raise InputError("a direction is between two different items")
        asked = [look_up(Request([item_id], explain=False), self.shelf) for item_id in (first, second)]
        with torch.no_grad():
            forward, backward = standings(asked, self.shelf.rows([second, first]), self.shelf)
        return Direction(first, second, forward.score, backward.score, forward.confidence, backward.confidence)

    def _answer(self, asked: Asked, ranking: Ranking, why: Mapping[int, Because]) -> Answer:
        found = []
        for at, one in enumerate(ranking.best):
            item, spread = self.shelf.catalogue.item(one.row), self.shelf.uncertainty[one.row]
            words = (item.item_id, item.title, item.brand, item.category)
            found.append(Recommendation(*words, at + 1, one.score, one.confidence, spread, why.get(one.row)))
        gone = removed(self.shelf, ranking) if asked.request.explain else ()
        return Answer(str(asked.query), tuple(found), asked.unknown, gone, not self.shelf.has_evidence(asked.basket))


def _slices(asked: Sequence[Asked], lines: int) -> Iterator[list[Asked]]:
    """In order, so many lines of the scan at most, or one request."""
    some: list[Asked] = []
    for one in asked:
        if some and sum(other.lines for other in some) + one.lines > lines:
            yield some
            some = []
        some.append(one)
    if some:
        yield some
