"""The baselines by name, each with the settings that are tried on validation: a new one is a file and an entry here."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from logirec.baselines.base import Baseline

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    says: str  # what it is, in a line
    where: str  # module:class, imported when it is asked for
    tried: tuple[Settings, ...] = ({},)  # on validation, six at most; the first where validation cannot be trusted
    takes: tuple[str, ...] = ()  # of device and seed, what its constructor wants too

    def make(self, settings: Settings, device: str = "cpu", seed: int = 0) -> Baseline:
        module, name = self.where.split(":")
        made = getattr(import_module(f"logirec.baselines.{module}"), name)
        given = {"device": device, "seed": seed}
        return cast(Baseline, made(**settings, **{what: given[what] for what in self.takes}))


def _each(name: str, *values: Any, **fixed: Any) -> tuple[Settings, ...]:
    return tuple({name: value, **fixed} for value in values)


BASELINES: dict[str, Entry] = {
    "popularity": Entry("what is bought most, whatever the basket", "popularity:Popularity"),
    "lookup": Entry("known links from the basket, then popularity", "lookup:Lookup"),
    "row-cosine": Entry(
        "what rows like the basket's hold, by cosine", "row_cosine:RowCosine", _each("power", 1.0, 2.0, 4.0, 8.0)
    ),
    "sum-of-neighbours": Entry(
        "each member's nearest items, summed",
        "sum_of_neighbours:SumOfNeighbours",
        _each("neighbours", 100, 20, 50, 200, 500),
    ),
    "rules": Entry(
        "the best association rule whose left side is in the basket",
        "rules:Rules",
        (*_each("support", 2, 1, 4, measure="confidence"), *_each("support", 2, 1, 4, measure="lift")),
    ),
    "ease": Entry(
        "each item predicted from the others by one linear map, in closed form",
        "ease:Ease",
        _each("regularization", 3.0, 0.3, 1.0, 10.0, 30.0),
        takes=("device",),
    ),
    "ease-all": Entry(
        "ease that also learns from reversed links and views",
        "ease:Ease",
        _each("regularization", 3.0, 0.3, 1.0, 10.0, 30.0, beside=0.5),
        takes=("device",),
    ),
    "item2vec": Entry(
        "an in and an out vector per item, from pairs of a row",
        "item2vec:Item2Vec",
        (*_each("epochs", 10, 3, 30, flatness=0.0), *_each("epochs", 10, 3, 30, flatness=0.75)),
        takes=("device", "seed"),
    ),
    "cf": Entry("how many users two items share", "cf:CF", _each("measure", "product", "cosine")),
    "mf": Entry(
        "item factors of the user-item matrix",
        "mf:MF",
        (
            *_each("factors", 128, 64),
            {"factors": 256, "regularization": 100.0},
            {"method": "bpr", "factors": 128},
        ),
        takes=("seed",),
    ),
    "lightgcn": Entry(
        "LightGCN on the user-item graph, an item being the mean of its users",
        "lightgcn:LightGCN",
        tuple({"dims": dims, "layers": layers} for dims, layers in ((64, 2), (128, 1), (128, 2), (256, 1))),
        takes=("device", "seed"),
    ),
    "knowledge-aware": Entry(
        "in and out vectors from what is bought next, with the latest ratings as context",
        "knowledge_aware:KnowledgeAware",
        (
            *_each("epochs", 10, 20, dims=64, decay=0.06),
            {"dims": 128, "decay": 0.02},
            {"dims": 128, "decay": 0.06, "epochs": 20},
        ),
        takes=("device", "seed"),
    ),
}
