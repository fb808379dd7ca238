"""Small models and tables for tests."""

import numpy as np
import torch

from logirec.config import recipe
from logirec.data.query_sets import ragged
from logirec.model.logirec import LogiRec, Shape
from logirec.training.batches import QueryTable

ITEMS = 40


def small_model(preset: str = "paper", items: int = ITEMS, seed: int = 1, **changes) -> LogiRec:
    """Of the preset's kind, small, and away from its start so that nothing is zero."""
    config = recipe(preset, "hybrid", 0, {"model": {"dims": 6, "width": 16, "item_spread": 0.8, **changes}}).model
    model = LogiRec(items, config, seed).double()
    draws = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim < 2 or parameter is model.bias:
                parameter.copy_(torch.randn(parameter.shape, generator=draws) * 0.3)
    return model


def random_table(
    shape: Shape, size: int, queries: int = 25, items: int = ITEMS, seed: int = 2, device: str = "cpu"
) -> QueryTable:
    random = np.random.default_rng(seed)
    members = [np.sort(random.choice(items, size, replace=False)) for _ in range(queries)]
    answers = [np.sort(random.choice(items, random.integers(1, 7), replace=False)) for _ in range(queries)]

    def lists(rows):
        return ragged(np.repeat(np.arange(queries), [len(r) for r in rows]), np.concatenate(rows), queries)

    return QueryTable(shape, lists(members), lists(answers), items, torch.device(device))
