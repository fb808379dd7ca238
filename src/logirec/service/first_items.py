"""Items to begin with, for somebody who has not searched yet."""

import numpy as np

from logirec.model.artifact import TrainedModel
from logirec.model.catalogue import Item
from logirec.relation import Relation

MOST = 100
LOOKED_AT = 10_000


def first_items(trained: TrainedModel) -> tuple[Item, ...]:
    """Those that lead to the most known complements, one of each category."""
    counts = np.diff(trained.links[Relation.CO_PURCHASE].starts)
    found: dict[str | None, Item] = {}
    for row in np.argsort(-counts, kind="stable")[:LOOKED_AT].tolist():
        item = trained.catalogue.item(row)
        found.setdefault(item.category or item.item_id, item)
        if len(found) == MOST:
            break
    return tuple(found.values())
