"""What a model learns from: a dataset as the parts of a training step."""

import numpy as np
import torch

from logirec.config import MAX_TRAINING_BASKET, Recipe
from logirec.data.dataset import Dataset
from logirec.data.graph import ItemGraph
from logirec.data.query_sets import KINDS, Kind, QuerySet, Ragged
from logirec.errors import InputError
from logirec.model.logirec import LogiRec, Shape
from logirec.relation import Relation
from logirec.training.bags import item_bags
from logirec.training.batches import QueryTable, link_queries, up_to
from logirec.training.orders import order_queries
from logirec.training.sets import drawn_sets
from logirec.training.step import Part, Stepper

SHAPES: dict[Kind, Shape] = {"low": Shape.LOW, "high": Shape.HIGH}
ASKED_EACH = 2  # times that a basket drawn from the training orders is asked about, on the mean
DRAWN_SETS = 20_000  # baskets made from the training links, of which each step takes some


def suited(recipe: Recipe, dataset: Dataset) -> Recipe:
    """The recipe as it is for such data."""
    return recipe.for_orders() if recipe.training.orders and dataset.baskets() is not None else recipe


def kinds_of(recipe: Recipe) -> list[Kind]:
    """The kinds of query that the variant is for."""
    return [kind for kind in KINDS if recipe.variant in (kind, "hybrid")]


def new_stepper(dataset: Dataset, recipe: Recipe, device: torch.device) -> Stepper:
    graph = dataset.graph()
    bags = item_bags(graph, recipe.model.neighbours, recipe.seed) if recipe.model.context else ()
    model = LogiRec(dataset.items, recipe.model, recipe.seed, bags).to(device)
    for relation, links in graph.links.items():
        counts = np.bincount(links.target, minlength=dataset.items)
        model.start_at_popularity(relation, torch.from_numpy(counts))
    config = recipe.training
    orders = dataset.baskets() if config.orders else None
    parts = _parts(dataset, graph, recipe, device, orders)
    if orders is not None:
        config = config.model_copy(update={"hidden": 0.0})  # later baskets repeat known pairs: nothing is to be hidden
    return Stepper(model, parts, config, recipe.seed)


def _parts(
    dataset: Dataset,
    graph: ItemGraph,
    recipe: Recipe,
    device: torch.device,
    orders: Ragged | None,
) -> list[Part]:
    config = recipe.training
    drawn = max(1, config.max_steps * config.batch // ASKED_EACH)
    made = None if orders is None else order_queries(orders, drawn, recipe.seed)
    asked = {kind: queries for kind in kinds_of(recipe) if len(queries := _asked(dataset, kind, made))}
    if not asked:
        raise too_few(dataset, recipe, "train")
    counts = {kind: 1 if config.mix == "even" else len(queries) for kind, queries in asked.items()}
    parts = []
    for kind, queries in asked.items():
        table = QueryTable(SHAPES[kind], queries.members, queries.answers, dataset.items, device)
        share = counts[kind] / sum(counts.values())
        parts.append(Part(table, max(1, round(config.batch * share)), share))
    if made is not None:  # all that the links say is in the orders
        return parts
    if config.set_batch and "high" in kinds_of(recipe) and len(sets := drawn_sets(graph, DRAWN_SETS, recipe.seed)):
        table = QueryTable(Shape.HIGH, sets.members, sets.answers, dataset.items, device)
        parts.append(Part(table, config.set_batch, config.beside_weight))
    if config.link_batch:
        for relation in Relation:
            if len(graph.links[relation]):
                table = QueryTable(Shape(int(relation)), *link_queries(graph, relation), dataset.items, device)
                parts.append(Part(table, config.link_batch, config.beside_weight))
    return parts


def _asked(dataset: Dataset, kind: Kind, made: QuerySet | None) -> QuerySet:
    if made is None:
        return up_to(dataset.queries("train", kind), MAX_TRAINING_BASKET)
    single = made.members.lengths == 1
    return made.take(np.flatnonzero(single if kind == "low" else ~single))


def too_few(dataset: Dataset, recipe: Recipe, what: str) -> InputError:
    return InputError(
        f"{dataset.folder}: no {' or '.join(kinds_of(recipe))} queries to {what} on, which --variant "
        f"{recipe.variant} needs; choose another --variant or prepare more data"
    )
