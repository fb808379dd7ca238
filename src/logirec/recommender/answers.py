"""What is asked of a recommender, and what it answers: values, ready to be printed or sent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from logirec.errors import InputError
from logirec.query import Query


@dataclass(frozen=True)
class Request:
    basket: Sequence[str] = ()
    top_k: int = 10
    query: Query | None = None  # default: what the basket asks by itself
    without_substitutes: bool = True  # what is known to be viewed with it, or to be what a NOT is about, never appears
    exclude: Sequence[str] = ()
    categories: Sequence[str] | None = None  # only these; None: all
    explain: bool = True

    def __post_init__(self) -> None:
        for name in ("basket", "exclude", "categories"):
            if isinstance(given := getattr(self, name), str):  # each of its letters would be one
                raise InputError(f"{name} {given!r}: a list is needed, [{given!r}]")
            if given is not None:
                object.__setattr__(self, name, tuple(given))  # read more than once
        if self.categories == ():
            raise InputError("categories: an empty list; None is all of them")
        if isinstance(self.query, str):
            raise InputError(f"query {self.query!r}: text is read by logirec.parse()")


# Changes are in standard deviations of the scores of all items: raw scores of two queries cannot be compared.


@dataclass(frozen=True)
class Contribution:
    """One item of the basket."""

    item_id: str
    title: str | None
    share: float  # of the reasons, all items together 1
    change: float | None  # how much lower the item stands without it; None where nothing would be left to ask
    attention: float  # how much of the query the model lets it be, all items together 1
    bought_together: bool  # a known link leads from it to the recommendation


@dataclass(frozen=True)
class Negation:
    """One NOT of the query."""

    query: str
    change: float  # how much higher this recommendation stands by it


@dataclass(frozen=True)
class Because:
    """How high the item stands, twice: by what of the basket and the query, and by the model and by evidence."""

    contributions: tuple[Contribution, ...]
    negations: tuple[Negation, ...]
    model: float  # standard deviations above the mean of all items
    evidence: float  # what the counts of things bought together add to that


@dataclass(frozen=True)
class Recommendation:
    item_id: str
    title: str | None
    brand: str | None
    category: str | None
    rank: int
    score: float
    confidence: float | None  # that it is a true answer: 1 where links say so; None where nothing was calibrated
    uncertainty: float  # of its embedding: about 1 knows nothing, near 0 is sure
    because: Because | None


@dataclass(frozen=True)
class Removed:
    """What would have been recommended but for a NOT."""

    item_id: str
    title: str | None
    by: str
    known: bool  # links say that it is what the NOT is about; else the model's own doing


@dataclass(frozen=True)
class Answer:
    query: str
    recommendations: tuple[Recommendation, ...]
    unknown: tuple[str, ...]  # items that were named and the catalogue does not hold; left out
    removed: tuple[Removed, ...]
    low_evidence: bool  # nothing was bought with an item of the basket in training

    def __iter__(self) -> Iterator[Recommendation]:
        return iter(self.recommendations)


@dataclass(frozen=True)
class Direction:
    """A pair both ways."""

    first: str
    second: str
    forward: float  # the second for who has the first
    backward: float
    forward_confidence: float | None
    backward_confidence: float | None
