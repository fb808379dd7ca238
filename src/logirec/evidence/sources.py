"""All that a dataset says of pairs, of known items and of new ones, and the numbers of it where they are wanted."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from logirec.baselines import ease
from logirec.data.dataset import Dataset
from logirec.data.graph import matrix
from logirec.data.query_sets import Kind
from logirec.evidence.lookalikes import of_unseen, spread_to
from logirec.evidence.places import Places
from logirec.evidence.tables import BOUGHT, MOST, OPINIONS, Tables, tables_of
from logirec.model.logirec import LogiRec
from logirec.relation import Relation

T = TypeVar("T")
U = TypeVar("U")


class Sources(NamedTuple):
    """What a dataset says of pairs."""

    tables: dict[Kind, Tables]
    of_new: dict[Kind, list[Any]]  # the same said of new items
    new: np.ndarray  # (N,)
    views: Any  # (N, N) sparse

    def places(self) -> Places:
        everything = [table for kind in self.tables for table in (*self.tables[kind].values(), *self.of_new[kind])]
        return Places([*{id(table): table for table in everything}.values()], self.views)

    def numbers(self, place: Places, kind: Kind, filtered: bool) -> list[np.ndarray]:
        """Of each table, then of each about new items."""
        known = said(place, self.tables[kind], of_sets=filtered and kind == "high")
        return known + [place.values(table) for table in self.of_new[kind]]

    def about(self, items: np.ndarray) -> "Sources":
        """What is said when these are asked about: of a large catalogue all of it would be too much at once."""
        tables = _of_each(self.tables, lambda some: {name: _about(table, items) for name, table in some.items()})
        of_new = _of_each(self.of_new, lambda some: [_about(table, items) for table in some])
        return Sources(tables, of_new, self.new, _about(self.views, items))


def sources_of(dataset: Dataset, how: ease.Ease, alike: Any, voices: Sequence[LogiRec]) -> Sources:
    tables = tables_of(dataset, how, voices)
    alike = sparse.csr_array((dataset.items, dataset.items)) if alike is None else of_unseen(alike, dataset)

    def spread(some: Tables) -> list[Any]:
        if not alike.nnz:
            return []
        counted = (table for name, table in some.items() if name != OPINIONS)  # models know what is new themselves
        return [part for table in counted for part in spread_to(table, alike, MOST)]

    views = matrix(dataset.graph().links[Relation.CO_VIEW], dataset.items)
    return Sources(tables, _of_each(tables, spread), np.diff(alike.indptr) > 0, views)


def said(place: Places, tables: Tables, of_sets: bool) -> list[np.ndarray]:
    """The numbers of each table. `of_sets`: a link that is known says all there is to say of its pair, so that how well
    the other tables would have guessed it does not decide which of a set's answers comes first."""
    numbers = {name: place.values(table) for name, table in tables.items()}
    if of_sets and BOUGHT in numbers:
        unknown = numbers[BOUGHT] == 0
        numbers = {name: found if name == BOUGHT else found * unknown for name, found in numbers.items()}
    return list(numbers.values())


def _of_each(by_kind: Mapping[Kind, T], made: Callable[[T], U]) -> dict[Kind, U]:
    """Made once where both kinds have the very same, as they mostly do."""
    found = {key: made(one) for key, one in {id(one): one for one in by_kind.values()}.items()}
    return {kind: found[id(one)] for kind, one in by_kind.items()}


def _about(table: Any, rows: np.ndarray) -> Any:
    """(N, N) with some rows alone, which are in order."""
    some = table.tocsr()[rows]
    counts = np.zeros(table.shape[0], dtype=np.int64)
    counts[rows] = np.diff(some.indptr)
    return sparse.csr_array((some.data, some.indices, np.concatenate([[0], np.cumsum(counts)])), table.shape)
