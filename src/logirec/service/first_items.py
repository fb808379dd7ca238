"""Items to begin with, for somebody who has not searched yet."""

from logirec.model.artifact import TrainedModel
from logirec.model.catalogue import Item
from logirec.relation import Relation

MOST = 100
LOOKED_AT = 10_000


def first_items(trained: TrainedModel) -> tuple[Item, ...]:
    """Those that lead to the most known complements, one of each category."""
    counts = trained.links[Relation.CO_PURCHASE].starts.diff()
    found: dict[str | None, Item] = {}
    for row in counts.argsort(descending=True, stable=True)[:LOOKED_AT].tolist():
        item = trained.catalogue.item(row)
        found.setdefault(item.category or item.item_id, item)
        if len(found) == MOST:
            break
    return tuple(found.values())
