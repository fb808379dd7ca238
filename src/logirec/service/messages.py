"""What comes in and goes out over HTTP, as the OpenAPI page shows it."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, SkipValidation

from logirec.config import ServiceConfig
from logirec.errors import InputError
from logirec.query import from_json, items_of, parse
from logirec.recommender.answers import Answer, Request

ItemId = Annotated[str, Field(min_length=1, max_length=500)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Ask(_Strict):
    """A basket or a query."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"basket": ["P000123", "P000456"], "top_k": 5}, {"query": "complement(P000123)"}]
        }
    )
    basket: list[ItemId] = Field(
        [],
        description="Item ids; order and repeats do not matter. With a query: what is there already, not asked about.",
    )
    top_k: int | None = Field(None, ge=1, description="How many recommendations; 10 where nothing is said.")
    query: str | dict[str, Any] | None = Field(
        None,
        description="A query as text, complement(A & B) & ~substitute(A), or as JSON. Default: what the basket asks.",
    )
    without_substitutes: bool = Field(
        True, description="Known substitutes of the basket, and what links say a NOT is about, never appear."
    )
    exclude: list[ItemId] = Field([], max_length=1000, description="Items that must not appear.")
    categories: list[str] | None = Field(
        None, min_length=1, max_length=100, description="Only items of these categories; null: of all."
    )
    explain: bool = Field(True, description="With reasons.")

    def request(self, limits: ServiceConfig) -> Request:
        query = None
        if self.query is not None:
            query = parse(self.query) if isinstance(self.query, str) else from_json(self.query)
        named = {*self.basket, *(() if query is None else items_of(query))}
        if len(named) > limits.max_basket:
            raise InputError(f"{len(named)} items; at most {limits.max_basket}")
        top_k = min(10, limits.max_top_k) if self.top_k is None else self.top_k
        if top_k > limits.max_top_k:
            raise InputError(f"top_k is too large; at most {limits.max_top_k}")
        return Request(self.basket, top_k, query, self.without_substitutes, self.exclude, self.categories, self.explain)


class AskMany(_Strict):
    """Several requests."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"requests": [{"basket": ["P000123"], "top_k": 3}, {"query": "complement(P000456)"}]}]
        }
    )
    # Read one by one: a wrong one does not take the others with it.
    requests: list[SkipValidation[Ask | Any]] = Field(
        min_length=1, description="Answered in this order; each may fail by itself, of a wrong form or not."
    )


class ErrorBody(BaseModel):
    code: str = Field(description="A word for programs.", examples=["invalid"])
    message: str = Field(description="A line for people.")
    at: int | None = Field(None, description="Of a query: the place in its text, from 0.")
    request_id: str


class ErrorReply(BaseModel):
    error: ErrorBody


class AnswersReply(BaseModel):
    answers: list[Answer | ErrorReply] = Field(description="In the order of the requests.")


class StatusReply(BaseModel):
    status: str


class ItemReply(BaseModel):
    item_id: str
    title: str | None
    brand: str | None
    category: str | None


class ItemsReply(BaseModel):
    items: list[ItemReply]


class ModelReply(BaseModel):
    sha256: str = Field(description="Of the model's manifest: changes with every model.")
    version: str
    items: int
    categories: list[str]
    preset: str
    variant: str
    told: str = Field(description="Up to which part of the data it knows the links: train, valid or test.")
    dataset: str | None = Field(description="The name of the dataset it was trained on, where that is known.")
    trained: str | None = Field(description="When training began, ISO 8601, where that is known.")
    served_since: float = Field(description="Seconds since 1970.")
    metrics: dict[str, Any] = Field(
        description="On test, before it was told of it: low|high -> filtered|raw -> Hit@3, NDCG@3, MRR, Hit@10."
    )
    limits: dict[str, Any]
