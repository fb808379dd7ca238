"""A request with its items looked up: what is asked of the model, branch by branch."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from logirec.config import MAX_BASKET
from logirec.errors import InputError, UnknownItems
from logirec.model.reasoning import Meeting, Operand, named
from logirec.query import Literal, Query, asked_for, branches, items_of, possible
from logirec.recommender.answers import Request
from logirec.recommender.shelf import Shelf
from logirec.relation import Relation

T = TypeVar("T")
U = TypeVar("U")


class Probes(NamedTuple, Generic[T]):
    """What is asked for reasons, or what came of it."""

    whole: T
    without: tuple[T, ...]  # each member
    alone: tuple[T, ...]  # each member
    unnegated: tuple[T, ...]  # without each NOT

    @property
    def flat(self) -> tuple[T, ...]:
        return (self.whole, *self.without, *self.alone, *self.unnegated)

    def read(self, values: Sequence[U]) -> "Probes[U]":
        """What came of them, one after the other, in their places."""
        each = iter(values)
        return Probes(next(each), *(tuple(islice(each, len(some))) for some in self[1:]))


@dataclass(frozen=True)
class Branch:
    """One alternative of a query, its items as rows."""

    meeting: Meeting
    words: tuple[str, ...]  # each operand as it is written
    basket: tuple[int, ...]  # the items that something is wanted for
    negated: tuple[int, ...]  # the operands that are NOTs and mean something here

    @cached_property
    def members(self) -> tuple[int, ...]:
        """The items that can be left out: of several, each."""
        return self.basket if len(self.basket) > 1 else ()

    @cached_property
    def probes(self) -> Probes[Meeting]:
        return Probes(
            self.meeting,
            tuple(without_item(self.meeting, member) for member in self.members),
            tuple(only_item(self.meeting, member) for member in self.members),
            tuple(without_operand(self.meeting, at) for at in self.negated),
        )

    @property
    def relation(self) -> Relation:
        """What an answer is to them."""
        wanted = {operand.relation for operand in self.meeting if not operand.negated}
        return Relation.CO_PURCHASE if Relation.CO_PURCHASE in wanted else Relation.CO_VIEW


@dataclass(frozen=True)
class Asked:
    request: Request
    query: Query
    branches: tuple[Branch, ...]
    unknown: tuple[str, ...]  # ids that the catalogue does not hold, of what is ruled out too; left out
    named: tuple[int, ...]  # all items of basket and query: never recommended
    basket: tuple[int, ...]  # those of them that something is wanted for

    @property
    def apart(self) -> set[int]:
        """The items that are asked about, but for those whose substitutes are wanted."""
        wanted = (named(branch.meeting, Relation.CO_VIEW, negated=False) for branch in self.branches)
        return set(self.basket).difference(*wanted)

    @property
    def lines(self) -> int:
        """How many queries of a scan it takes: each branch, and for reasons each without each of its NOTs."""
        return sum(1 + (len(branch.negated) if self.request.explain else 0) for branch in self.branches)

    @property
    def meetings(self) -> Iterator[Meeting]:
        """All that goes through the networks."""
        for branch in self.branches:
            yield from branch.probes.flat if self.request.explain else (branch.meeting,)


def look_up(request: Request, shelf: Shelf) -> Asked:
    if request.top_k < 1:
        raise InputError(f"top_k {request.top_k}: at least 1")
    ids = {*request.basket, *(() if request.query is None else items_of(request.query))}
    unknown = tuple(sorted(item_id for item_id in ids if item_id not in shelf.vocabulary))
    known = sorted(ids - {*unknown})
    if len(known) > MAX_BASKET:
        raise InputError(f"{len(known)} items; a basket holds at most {MAX_BASKET}")
    if not known:
        raise UnknownItems(unknown) if unknown else InputError("an empty basket; name at least one item")
    query = asked_for(known) if request.query is None else request.query
    asked: list[Sequence[Literal]] = [*branches(query)]
    if unknown:
        asked = [*dict.fromkeys(tuple(_without({*unknown}, literals)) for literals in asked)]
    found = [branch for literals in asked if (branch := _branch(literals, shelf))]
    if not found:
        raise UnknownItems(unknown)
    basket = {row for branch in found for row in branch.basket}
    basket.update(shelf.rows(item_id for item_id in request.basket if item_id in shelf.vocabulary))
    unknown = tuple(sorted({*unknown, *(item_id for item_id in request.exclude if item_id not in shelf.vocabulary)}))
    return Asked(request, query, tuple(found), unknown, shelf.rows(known), tuple(sorted(basket)))


def _branch(literals: Sequence[Literal], shelf: Shelf) -> Branch | None:
    """None where nothing is wanted."""
    wanted = {item for linked, negated in literals if not negated for item in linked.items}
    if not wanted:
        return None
    meeting = tuple(Operand(linked.relation, shelf.rows(linked.items), negated) for linked, negated in literals)
    words = tuple(f"~{linked}" if negated else str(linked) for linked, negated in literals)
    if not shelf.knows_views and any(one.relation == Relation.CO_VIEW and not one.negated for one in meeting):
        raise InputError("substitutes are learnt from product views, and this model has seen none; ask for complements")
    told = [at for at, one in enumerate(meeting) if shelf.knows_views or one.relation != Relation.CO_VIEW]
    negated = tuple(at for at in told if meeting[at].negated)
    return Branch(meeting, words, shelf.rows(sorted(wanted)), negated)


def _without(unknown: Collection[str], literals: Iterable[Literal]) -> list[Literal]:
    """Out of their sets, and empty sets out of the branch; parts that differed by them are one now, or opposites."""
    found = set()
    for linked, negated in literals:
        items = tuple(item for item in linked.items if item not in unknown)
        if items:
            found.add(Literal(replace(linked, items=items), negated))
    return sorted(found) if possible(found) else []


def without_item(meeting: Meeting, row: int) -> Meeting:
    """The query without one of several items."""
    left = (operand._replace(rows=tuple(r for r in operand.rows if r != row)) for operand in meeting)
    return tuple(operand for operand in left if operand.rows)


def only_item(meeting: Meeting, row: int) -> Meeting:
    """The query for one of several items, with the same NOTs."""
    left = (
        operand if operand.negated else operand._replace(rows=(row,))
        for operand in meeting
        if row in operand.rows or operand.negated
    )
    return tuple(left)


def without_operand(meeting: Meeting, at: int) -> Meeting:
    return meeting[:at] + meeting[at + 1 :]
