"""Where the answers stand among all items.

Rank = 1 + better + ties / 2: an answer that shares its score with others stands in their middle. Raw ranks compete
with every item; filtered ranks without the items that a query's filter names (never another answer).
Memory is bounded: scores of a tile of queries, and copies of their rows for a slice of the answers.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from logirec.data.query_sets import Ragged
from logirec.errors import InputError

TILE = 1 << 24  # numbers held at once (64 MB in float32)
MOST_QUERIES = 1024  # asked at once, however few the items: a query has a cost of its own

Scores = Callable[[Ragged], Tensor]  # baskets -> (B, N), higher is better


class Standing(NamedTuple):
    """Per answer: how many candidates are better, and how many others score the same."""

    better: np.ndarray
    ties: np.ndarray

    @property
    def ranks(self) -> np.ndarray:
        ranks: np.ndarray = 1 + self.better + self.ties / 2
        return ranks


class Standings(NamedTuple):
    raw: Standing
    filtered: Standing


def stand(scores: Scores, baskets: Ragged, answers: Ragged, filters: Ragged, items: int, tile: int = TILE) -> Standings:
    parts = []
    step = min(MOST_QUERIES, max(1, tile // items))
    for first in range(0, len(baskets), step):
        queries = np.arange(first, min(first + step, len(baskets)))
        with torch.no_grad():
            parts.append(_stand(scores(baskets.take(queries)), answers.take(queries), filters.take(queries), tile))
    if not parts:
        nothing = Standing(np.empty(0, np.int64), np.empty(0, np.int64))
        return Standings(nothing, nothing)
    columns = torch.cat(parts, dim=1).cpu().numpy()
    return Standings(Standing(columns[0], columns[1]), Standing(columns[2], columns[3]))


def _stand(scores: Tensor, answers: Ragged, filters: Ragged, tile: int) -> Tensor:
    """(4, answers): better and ties, raw then filtered."""
    if scores.isnan().any():
        raise InputError("scores that are no numbers cannot be ranked")
    owner, answer = places(answers, scores.device)
    allowed = torch.ones_like(scores, dtype=torch.bool)
    allowed[places(filters, scores.device)] = False
    allowed[owner, answer] = True
    own = scores[owner, answer]
    counts = torch.empty(4, len(own), dtype=torch.int64, device=scores.device)
    step = max(1, tile // scores.shape[1])
    for start in range(0, len(own), step):
        part = slice(start, start + step)
        rows, open_, mine = scores[owner[part]], allowed[owner[part]], own[part, None]
        better, same = rows > mine, rows == mine
        counts[0, part], counts[1, part] = better.sum(1), same.sum(1) - 1
        counts[2, part], counts[3, part] = (better & open_).sum(1), (same & open_).sum(1) - 1
    return counts


def places(lists: Ragged, device: torch.device) -> tuple[Tensor, Tensor]:
    owners, values = lists.owners.astype(np.int64), lists.values.astype(np.int64)
    return torch.from_numpy(owners).to(device), torch.from_numpy(values).to(device)
