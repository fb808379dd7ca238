"""The logical query: what is asked for a basket. As a value, as text and as JSON; each can be made from the others.

    complement(A & B) & ~substitute(A)
    complement("an id, with anything in it") | complement(C)

text   query = branch | branch ...   branch = part & part ...   part = ~part, (query), complement(ids), substitute(ids)
JSON   {"or": [...]}, {"and": [...]}, {"not": ...}, {"complement": ["A", "B"]}, {"substitute": ["A"]}

& binds before |. Order and repeats do not matter: a query is kept in one form, whichever way it was written.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

from logirec.config import MAX_BASKET
from logirec.errors import QueryError
from logirec.relation import Relation

MAX_TEXT = 20_000  # characters
MAX_DEPTH = 20  # of brackets and negations
MAX_BRANCHES = 16  # after everything is written as this or this or this
MAX_LITERALS = 128  # in all of these: reasons ask again without each NOT, beside all the others


@dataclass(frozen=True, order=True)
class Linked:
    """Items along one relation from a set of items: complement(...) or substitute(...)."""

    relation: Relation
    items: tuple[str, ...]  # ascending, none twice

    def __str__(self) -> str:
        return f"{_NAMES[self.relation]}({' & '.join(map(_written, self.items))})"


@dataclass(frozen=True)
class Not:
    part: "Query"

    def __str__(self) -> str:
        return f"~{_bracketed(self.part, And, Or)}"


@dataclass(frozen=True)
class And:
    parts: "tuple[Query, ...]"

    def __str__(self) -> str:
        return " & ".join(_bracketed(part, Or) for part in self.parts)


@dataclass(frozen=True)
class Or:
    parts: "tuple[Query, ...]"

    def __str__(self) -> str:
        return " | ".join(map(str, self.parts))


Query = Linked | Not | And | Or
_NAMES = {Relation.CO_PURCHASE: "complement", Relation.CO_VIEW: "substitute"}
_RELATIONS = {name: relation for relation, name in _NAMES.items()}


def complement(items: Iterable[str]) -> Query:
    return _linked(Relation.CO_PURCHASE, items)


def substitute(items: Iterable[str]) -> Query:
    return _linked(Relation.CO_VIEW, items)


def negated(part: Query) -> Query:
    return part.part if isinstance(part, Not) else Not(part)


def all_of(parts: Iterable[Query]) -> Query:
    return _joined(And, parts)


def any_of(parts: Iterable[Query]) -> Query:
    return _joined(Or, parts)


def asked_for(basket: Iterable[str]) -> Query:
    """What a basket asks when nothing else is said: of one item, complements that are no substitutes."""
    items = sorted(set(basket))
    return all_of([complement(items), negated(substitute(items))]) if len(items) == 1 else complement(items)


def _linked(relation: Relation, items: Iterable[str]) -> Linked:
    distinct = tuple(sorted(set(items)))
    if not distinct:
        raise QueryError(f"{_NAMES[relation]} of nothing; name at least one item")
    return Linked(relation, distinct)


def _joined(kind: type[And] | type[Or], parts: Iterable[Query]) -> Query:
    flat: set[Query] = set()
    for part in parts:
        flat.update(part.parts if isinstance(part, kind) else [part])
    if not flat:
        raise QueryError("nothing is asked for")
    ordered = sorted(flat, key=str)
    return ordered[0] if len(ordered) == 1 else kind(tuple(ordered))


def items_of(query: Query) -> tuple[str, ...]:
    """All items that are named, ascending."""
    match query:
        case Linked():
            return query.items
        case Not(part):
            return items_of(part)
        case And(parts) | Or(parts):
            return tuple(sorted({item for part in parts for item in items_of(part)}))


# As branches: this or this or this --------------------------------------------------------------------------------


class Literal(NamedTuple):
    linked: Linked
    negated: bool


Branch = tuple[Literal, ...]  # all of them hold


def branches(query: Query) -> list[Branch]:
    """The query as alternatives, negation taken down to the items. Every one must ask for something, and not for its
    opposite too."""
    named = items_of(query)
    if len(named) > MAX_BASKET:
        raise QueryError(f"{len(named)} items; at most {MAX_BASKET}")
    found = {tuple(sorted(branch)): None for branch in _branches(query, False) if possible(branch)}
    if not found:
        raise QueryError("it asks for something and for its opposite")
    count = sum(map(len, found))
    if count > MAX_LITERALS:
        raise QueryError(f"{count} parts with all alternatives written out; at most {MAX_LITERALS}")
    for branch in found:
        if all(literal.negated for literal in branch):
            raise QueryError("it only says what is not wanted; ask for a complement(...) or substitute(...) too")
    return list(found)


def parts(query: Query | None) -> int:
    """How much there is to ask; a basket alone is one."""
    return 1 if query is None else sum(map(len, branches(query)))


def possible(branch: Collection[Literal]) -> bool:
    """It does not ask for something and for its opposite."""
    return not any(Literal(linked, not negate) in branch for linked, negate in branch)


def _branches(query: Query, negate: bool) -> list[frozenset[Literal]]:
    match query:
        case Linked():
            return [frozenset({Literal(query, negate)})]
        case Not(part):
            return _branches(part, not negate)
    either = isinstance(query, Or) != negate  # not (a or b) is not a and not b
    each = [_branches(part, negate) for part in query.parts]
    if either:
        found = [branch for alternatives in each for branch in alternatives]
    else:
        if prod(map(len, each)) > MAX_BRANCHES:  # before they are made
            raise QueryError(f"more than {MAX_BRANCHES} alternatives; ask in parts")
        found = [frozenset().union(*chosen) for chosen in product(*each)]
    if len(found) > MAX_BRANCHES:
        raise QueryError(f"{len(found)} alternatives; at most {MAX_BRANCHES}")
    return found


# As text ----------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r'\s*(?:(?P<sign>[&|~()])|(?P<word>[\w.:/@+-]+)|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<wrong>\S))', re.DOTALL
)
_PLAIN = re.compile(r"[\w.:/@+-]+")


def _written(item: str) -> str:
    if _PLAIN.fullmatch(item):
        return item
    escaped = item.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _bracketed(part: Query, *kinds: type) -> str:
    return f"({part})" if isinstance(part, kinds) else str(part)


class _Token(NamedTuple):
    kind: str  # sign, word, quoted, end
    text: str
    at: int


def parse(text: str) -> Query:
    if len(text) > MAX_TEXT:
        raise QueryError(f"{len(text):,} characters; at most {MAX_TEXT:,}")
    return _Parser(_tokens(text)).whole()


def _tokens(text: str) -> list[_Token]:
    tokens, at = [], 0
    while found := _TOKEN.match(text, at):
        kind = str(found.lastgroup)
        value, place = found[kind], found.start(kind)
        if value == '"':
            raise QueryError('a quotation mark without its end; inside one, write \\" and \\\\', place)
        if kind == "wrong":
            raise QueryError(
                "a letter, a digit or a sign of the language should be; quote ids that have others", place, repr(value)
            )
        if kind == "quoted":
            value, place = re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL), place - 1
        tokens.append(_Token(kind, value, place))
        at = found.end()
    return [*tokens, _Token("end", "", len(text))]


class _Parser:
    """One function per line of the grammar."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens, self.place, self.depth = tokens, 0, 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.place]

    def whole(self) -> Query:
        if self.next.kind == "end":
            raise QueryError("nothing is asked for; write for example complement(A)", 0)
        query = self.query()
        if self.next.kind != "end":
            raise QueryError("& or | or the end should be", self.next.at, _named(self.next))
        return query

    def query(self) -> Query:
        return any_of(self._chain(self.branch, "|"))

    def branch(self) -> Query:
        return all_of(self._chain(self.part, "&"))

    def _chain(self, one: Any, sign: str) -> list[Query]:
        found = [one()]
        while self._take(sign):
            found.append(one())
        return found

    def part(self) -> Query:
        token = self.next
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise QueryError(f"more than {MAX_DEPTH} brackets and ~ inside each other", token.at)
        if self._take("~"):
            found = negated(self.part())
        elif self._take("("):
            found = self.query()
            self._expect(")")
        elif token.kind == "word" and token.text in _RELATIONS:
            self.place += 1
            self._expect("(")
            found = _linked(_RELATIONS[token.text], self._items())
            self._expect(")")
        else:
            raise QueryError("complement(...), substitute(...), ~ or ( should be", token.at, _named(token))
        self.depth -= 1
        return found

    def _items(self) -> list[str]:
        items = []
        while True:
            token = self.next
            if token.kind not in ("word", "quoted") or not token.text:
                raise QueryError("an item's id should be", token.at, _named(token))
            items.append(token.text)
            self.place += 1
            if not self._take("&"):
                return items

    def _take(self, sign: str) -> bool:
        found = self.next.kind == "sign" and self.next.text == sign
        self.place += found
        return found

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            raise QueryError(f"{sign} should be", self.next.at, _named(self.next))


def _named(token: _Token) -> str:
    return "the end" if token.kind == "end" else f"{token.text[:40]!r}"


# As JSON ----------------------------------------------------------------------------------------------------------


def to_json(query: Query) -> dict[str, Any]:
    match query:
        case Linked(relation, items):
            return {_NAMES[relation]: list(items)}
        case Not(part):
            return {"not": to_json(part)}
        case And(parts):
            return {"and": [to_json(part) for part in parts]}
        case Or(parts):
            return {"or": [to_json(part) for part in parts]}


def from_json(value: Any, depth: int = 0) -> Query:
    if depth > MAX_DEPTH:
        raise QueryError(f"more than {MAX_DEPTH} levels inside each other")
    if not isinstance(value, dict) or len(value) != 1:
        raise QueryError("an object with one key of and, or, not, complement, substitute is needed")
    ((key, inside),) = value.items()
    if key in _RELATIONS:
        if not isinstance(inside, list) or not all(isinstance(item, str) and item for item in inside):
            raise QueryError(f"{key} takes a list of item ids")
        return _linked(_RELATIONS[key], inside)
    if key == "not":
        return negated(from_json(inside, depth + 1))
    if key not in ("and", "or"):
        raise QueryError("one of and, or, not, complement, substitute should be", found=repr(str(key)[:40]))
    if not isinstance(inside, list) or not inside:
        raise QueryError(f"{key} takes a list with at least one query")
    parts = [from_json(part, depth + 1) for part in inside]
    return all_of(parts) if key == "and" else any_of(parts)
