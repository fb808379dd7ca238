"""Settings: frozen, validated, unknown keys refused. The line under each field is also its help text."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from logirec.errors import UsageError

Format = Literal["amazon", "links", "rechorus", "orders", "released"]
Protocol = Literal["leak-free", "paper", "released", "baskets"]
FORMATS: tuple[Format, ...] = ("amazon", "links", "rechorus", "orders", "released")
PROTOCOLS: tuple[Protocol, ...] = ("leak-free", "paper", "released", "baskets")


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class OrderRules(Settings):
    """How order lines become "also bought" links."""

    min_support: Annotated[int, Field(ge=1, le=10**9)] = 3
    """An order pair counts only when at least this many orders hold both items."""
    min_llr: Annotated[float, Field(ge=0, le=10**9)] = 10.83
    """Log-likelihood ratio against chance that a pair must reach (10.83: one in a thousand by chance)."""
    min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Smallest P(j|i), the share of i's orders that also hold j, for a link i -> j."""
    top_links: Annotated[int, Field(ge=1, le=10**6)] = 50
    """Best links kept per item, by P(j|i)."""
    max_basket: Annotated[int, Field(ge=2, le=10**5)] = 200
    """Orders with more items than this are left out (wholesale orders pair everything with everything)."""


class PrepareConfig(Settings):
    """What `logirec prepare` does with the raw files."""

    protocol: Protocol | None = None
    """How links and queries are split. Default: leak-free (released for the authors' folder, which is a split)."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """The same seed and input give the same bytes."""
    basket_sizes: tuple[Annotated[int, Field(ge=2, le=5)], ...] = (2,)
    """Sizes of the item sets in high-order queries, 2 to 5."""
    max_queries: Annotated[int, Field(ge=1, le=10**9)] = 100_000
    """Most queries listed per stage, kind and basket size; more are sampled, and the dataset says so."""
    hide_views: bool = False
    """Stricter leak-free: the co-view links of held-out pairs are held out too."""
    keep_unlinked: bool = False
    """Keep items that have a description but not a single link."""
    max_bad: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Share of input lines that may be rejected before the whole input is refused."""
    memory_mb: Annotated[int, Field(ge=64, le=10**7)] = 1024
    """Most memory that the joins may take; they start with less and spill to disk."""
    orders: OrderRules = OrderRules()

    @field_validator("basket_sizes")
    @classmethod
    def _sorted_sizes(cls, sizes: tuple[int, ...]) -> tuple[int, ...]:
        if not sizes:
            raise ValueError("name at least one basket size")
        return tuple(sorted(set(sizes)))


def settings_error(error: ValidationError) -> UsageError:
    """All wrong settings in one line."""
    parts = [f"{'.'.join(map(str, e['loc']))}: {e['msg']} (got {e['input']!r})" for e in error.errors()]
    return UsageError("; ".join(parts))
