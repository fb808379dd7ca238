"""A trained model is told the rest of the data: what is counted is counted anew, and what was learnt stays.

Validation has chosen the step and weighed the evidence, test has judged. The links that were kept back for that are the
shop's all the same: they go into the items' contexts and into the tables of evidence.
"""

from collections.abc import Sequence
from typing import Any

from logirec.config import Recipe
from logirec.data.dataset import Dataset
from logirec.data.graph import ItemGraph
from logirec.evidence.gathering import Gathered, again, heard
from logirec.evidence.lookalikes import lookalikes, take_places
from logirec.model.logirec import LogiRec, settle
from logirec.training.bags import item_bags


def refit(models: Sequence[LogiRec], known: Dataset, recipe: Recipe, alike: Any, found: Gathered | None) -> LogiRec:
    """The first of the models, as they were trained. `alike`: what the items are like that were new to training;
    `found`: the evidence that was weighed."""
    graph, settled = known.graph(), []
    for member, model in enumerate(models):
        settled.append(settle(_in_context(model, graph, recipe.of_member(member))))
        if alike is not None:
            take_places(settled[-1], alike)
    if found is not None:
        still_new, opinions = None if alike is None else lookalikes(known), heard(settled, known)
        settled[0].evidence = again(found, known, still_new, opinions, recipe.training.ranking == "filtered")
    return settled[0]


def _in_context(model: LogiRec, graph: ItemGraph, recipe: Recipe) -> LogiRec:
    if model.context is None:
        return model
    bags = item_bags(graph, recipe.model.neighbours, recipe.seed)
    if [bag.relation for bag in bags] != model.context.relations:
        return model  # has learnt no map for a kind of link that training was without
    told = LogiRec(model.items, model.config, seed=None, bags=bags).to(model.raw_items)
    told.load_state_dict(model.state_dict())
    return told
