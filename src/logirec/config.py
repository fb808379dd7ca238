"""Settings: frozen, validated, unknown keys refused. The line under each field is also its help text."""

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from logirec.errors import UsageError

Format = Literal["amazon", "links", "rechorus", "orders", "released"]
Protocol = Literal["leak-free", "cold-items", "paper", "released", "baskets"]
FORMATS: tuple[Format, ...] = get_args(Format)
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


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


Variant = Literal["low", "high", "hybrid"]
Preset = Literal["paper", "default", "best", "raw"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
PRESETS: tuple[Preset, ...] = get_args(Preset)
MAX_BASKET = 50  # items in a query
MAX_TRAINING_BASKET = 5  # items in a query that is learnt from


class ModelConfig(Settings):
    """What is learnt."""

    dims: Annotated[int, Field(ge=1, le=4096)] = 64
    """Beta distributions per item; an item has twice as many numbers."""
    width: Annotated[int, Field(ge=1, le=65536)] = 256
    """Width of the projection's hidden layers."""
    layers: Annotated[int, Field(ge=1, le=16)] = 2
    """Hidden layers of the projection."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.5
    """Share of the projection's last hidden layer that is dropped while training."""
    item_bias: bool = True
    """A learnt bias per relation and item, which starts at the item's popularity."""
    temperature: bool = True
    """A learnt scale of the divergence."""
    scale_start: Annotated[float, Field(gt=0, le=100)] = 0.3
    """The scale before training."""
    sets: Literal["summary", "members", "both"] = "both"
    """A set's query is the projection of its summary, the intersection of its members' projections, or of all these."""
    context: bool = True
    """Items are asked about in the context of what they are bought and viewed with."""
    neighbours: Annotated[int, Field(ge=1, le=10_000)] = 64
    """Most neighbours of a kind in an item's context; more are sampled."""
    evidence: bool = True
    """What counts of things bought together say is added to the scores, as much of it as helps on validation."""
    lookalikes: bool = True
    """Whether an item that was never bought is taken for the mean of those that are described like it."""
    item_spread: Annotated[float, Field(gt=0, le=10)] = 0.155
    """Embeddings start uniformly within this distance of Beta(1, 1)."""


class TrainConfig(Settings):
    """How it is learnt."""

    loss: Literal["softmax", "log-sigmoid"] = "softmax"
    """softmax: over the catalogue, all answers are targets. log-sigmoid: the paper's, one answer against negatives."""
    gamma: Annotated[float, Field(gt=0, le=10**6)] = 60.0
    """Margin of the log-sigmoid loss."""
    negatives: Annotated[int, Field(ge=1, le=10**6)] = 128
    """Negatives per query of the log-sigmoid loss."""
    candidates: Annotated[int, Field(ge=1, le=10**7)] = 32_768
    """A catalogue up to this size is scored whole in every step; of a larger one this many items, drawn anew."""
    batch: Annotated[int, Field(ge=1, le=10**6)] = 128
    """Low and high queries per step."""
    mix: Literal["even", "by-count"] = "even"
    """How a batch is shared by kinds of query: in equal parts, or by how many training queries each kind has."""
    set_batch: Annotated[int, Field(ge=0, le=10**6)] = 16
    """Baskets of 2 to 5 items per step that are made from the training links; 0: none."""
    link_batch: Annotated[int, Field(ge=0, le=10**6)] = 32
    """Plain one-hop queries per step and relation; 0: none."""
    beside_weight: Annotated[float, Field(ge=0, le=100)] = 0.2
    """Weight of the loss of these two, beside 1 for the dataset's own queries."""
    orders: bool = True
    """Where the dataset has orders, learn from them: some items of an order, the rest as their answers."""
    hidden: Annotated[float, Field(ge=0, lt=1)] = 0.3
    """Share of the links that a step hides from contexts, and whose targets it asks for; 0 with orders."""
    learning_rate: Annotated[float, Field(gt=0, le=10)] = 1e-3
    item_rate: Annotated[float, Field(gt=0, le=1000)] = 10.0
    """How many times faster item embeddings learn: each is in few queries, the networks are in all."""
    weight_decay: Annotated[float, Field(ge=0, le=100)] = 1.0
    """Decoupled from the gradient, as in AdamW; biases and scale have none."""
    average: Annotated[float, Field(ge=0, lt=1)] = 0.98
    """Decay of the running mean of the weights, which is what is validated and kept; 0: the weights themselves."""
    schedule: Literal["cosine", "drops"] = "cosine"
    """cosine: warm-up, then down to a tenth. drops: divided by 5 at half and at three quarters of the steps."""
    warm_up: Annotated[int, Field(ge=0, le=10**9)] = 100
    """Steps over which the cosine schedule's rate rises."""
    members: Annotated[int, Field(ge=1, le=64)] = 1
    """Models that are trained, each with a seed of its own: what the others say of single items is evidence."""
    max_steps: Annotated[int, Field(ge=1, le=10**9)] = 2000
    """Steps at most."""
    validate_every: Annotated[int, Field(ge=1, le=10**9)] = 50
    """Steps between looks at validation."""
    validate_queries: Annotated[int, Field(ge=1, le=10**9)] = 1000
    """Validation queries of each kind that are looked at, drawn once."""
    ranking: Literal["filtered", "raw"] = "filtered"
    """What validation ranks: what is not known yet, or all items, as the paper does."""
    patience: Annotated[int, Field(ge=0, le=10**9)] = 400
    """Stop when validation has not risen for this many steps; 0: never."""
    keep_best: bool = True
    """Keep the weights of the best validation MRR; else the last."""
    refit: Literal["train", "valid", "test"] = "train"
    """The last part of the data that the kept model is told of; what it has learnt is training's in any case."""


class Recipe(Settings):
    """Everything that decides what a training run makes of a dataset."""

    variant: Variant = "hybrid"
    preset: Preset = "default"
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """The same seed, dataset, machine and thread count give the same bytes."""
    model: ModelConfig = ModelConfig()
    training: TrainConfig = TrainConfig()

    @property
    def can_be_told(self) -> bool:
        """Something that it knows is counted, not learnt."""
        return self.model.context or self.model.evidence

    def for_orders(self) -> "Recipe":
        """With what orders want, which are more to learn from than links, where nothing else was asked for."""
        rooms = {}
        for room, wanted in _ORDERS.get(self.preset, {}).items():
            own: Settings = getattr(self, room)
            rooms[room] = own.model_copy(
                update={n: value for n, value in wanted.items() if n not in own.model_fields_set}
            )
        return self.model_copy(update=rooms)

    def of_member(self, member: int) -> "Recipe":
        """With the seed of one of several models."""
        return self.model_copy(update={"seed": (self.seed + member) % 2**63})

    @model_validator(mode="after")
    def _members_are_heard(self) -> "Recipe":
        if self.training.members > 1 and not self.model.evidence:
            raise ValueError("training.members beside the first are heard as evidence, and model.evidence is off")
        return self

    @model_validator(mode="after")
    def _something_can_be_told(self) -> "Recipe":
        if self.training.refit != "train" and not self.can_be_told:
            raise ValueError("training.refit makes contexts and evidence anew, and model.context and .evidence are off")
        return self


# The paper's settings. Batch, schedule, widths and spread are those of its released code, which the text leaves open.
_PAPER: dict[str, dict[str, object]] = {
    "model": {
        "dims": 400,
        "width": 1600,
        "layers": 2,
        "dropout": 0.0,
        "item_bias": False,
        "temperature": False,
        "sets": "summary",
        "context": False,
        "evidence": False,
        "lookalikes": False,
        "item_spread": (60 + 2) / 400,
    },
    "training": {
        "loss": "log-sigmoid",
        "batch": 512,
        "mix": "by-count",
        "set_batch": 0,
        "link_batch": 0,
        "orders": False,
        "learning_rate": 1e-4,
        "item_rate": 1.0,
        "weight_decay": 0.0,
        "average": 0.0,
        "schedule": "drops",
        "max_steps": 200_000,
        "validate_every": 2_000,
        "patience": 0,
        "keep_best": False,
    },
}
_PRESETS: dict[str, dict[str, dict[str, object]]] = {
    "paper": _PAPER,
    "default": {"model": {}, "training": {}},
    "best": {"model": {}, "training": {"members": 4}},
    "raw": {"model": {}, "training": {"ranking": "raw"}},
}
# What is different where there are orders.
_ORDERS: dict[str, dict[str, dict[str, object]]] = {
    "default": {
        "training": {"batch": 256, "candidates": 8_192, "max_steps": 4_000, "patience": 2_000, "weight_decay": 0.1}
    },
    "best": {
        "model": {"dims": 128, "width": 512},
        "training": {"batch": 512, "max_steps": 4_000, "patience": 2_000, "weight_decay": 0.03},
    },
}


def recipe(
    preset: str = "default",
    variant: str = "hybrid",
    seed: int = 0,
    changes: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> Recipe:
    """A preset with changes, both validated together; all wrong settings in one line."""
    parts = _PRESETS.get(preset, {"model": {}, "training": {}})
    merged = {room: {**values, **changes.get(room, {})} for room, values in parts.items()}
    unknown = {room: values for room, values in changes.items() if room not in parts}
    try:
        return Recipe.model_validate({"preset": preset, "variant": variant, "seed": seed, **merged, **unknown})
    except ValidationError as error:
        raise settings_error(error) from error


class ServiceConfig(Settings):
    """The limits of `logirec serve`."""

    max_body: Annotated[int, Field(ge=1, le=2**30)] = 65_536
    """Bytes of a request's body."""
    max_basket: Annotated[int, Field(ge=1, le=MAX_BASKET)] = MAX_BASKET
    """Items in a basket or query."""
    max_top_k: Annotated[int, Field(ge=1, le=10_000)] = 100
    """Recommendations per request."""
    max_batch: Annotated[int, Field(ge=1, le=1_000)] = 32
    """Requests in one call of /v1/recommend/batch."""
    queue: Annotated[int, Field(ge=1, le=100_000)] = 256
    """Requests that may wait; more are answered with 503."""
    gather: Annotated[int, Field(ge=1, le=1_000)] = 32
    """Requests that are answered together."""
    gather_ms: Annotated[float, Field(ge=0, le=1_000)] = 2.0
    """How long the first of them waits for as many others as last time."""
    deadline_ms: Annotated[float, Field(gt=0, le=600_000)] = 2_000.0
    """A request that has waited this long is answered with 503."""
    reload_seconds: Annotated[float, Field(ge=0, le=86_400)] = 1.0
    """How often to look whether the model has changed; 0: only at SIGHUP."""

    @model_validator(mode="after")
    def _a_batch_finds_room(self) -> "ServiceConfig":
        if self.max_batch > self.queue:
            raise ValueError(f"max_batch {self.max_batch} is more than queue {self.queue}: it would never find room")
        return self


def settings_error(error: ValidationError) -> UsageError:
    """All wrong settings in one line."""
    room = next(room for room in Settings.__subclasses__() if room.__name__ == error.title)
    return UsageError("; ".join(_wrong(one, _places(room)) for one in error.errors()))


def _places(room: type[Settings]) -> dict[str, str]:
    """Names of settings, and where each stands."""
    found = {name: name for name in room.model_fields}
    for name, field in room.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Settings):
            found |= {inner: f"{name}.{place}" for inner, place in _places(field.annotation).items()}
    return found


def _wrong(one: ErrorDetails, places: Mapping[str, str]) -> str:
    if not one["loc"]:
        return one["msg"].removeprefix("Value error, ")  # of settings that do not go together
    name, place = str(one["loc"][-1]), ".".join(map(str, one["loc"]))
    if one["type"] != "extra_forbidden":
        return f"{place}: {one['msg']} (got {one['input']!r})"
    near = get_close_matches(name, sorted(places), n=1)
    return f"{place}: no such setting" + (f"; did you mean {places[near[0]]}?" if near else "")
