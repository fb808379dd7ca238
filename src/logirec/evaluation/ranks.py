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

TILE = 1 << 24  # numbers held at once (64 MB in float32)

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
    for first in range(0, len(baskets), max(1, tile // items)):
        queries = np.arange(first, min(first + max(1, tile // items), len(baskets)))
        with torch.no_grad():
            parts.append(_stand(scores(baskets.take(queries)), answers.take(queries), filters.take(queries), tile))
    if not parts:
        nothing = Standing(np.empty(0, np.int64), np.empty(0, np.int64))
        return Standings(nothing, nothing)
    columns = torch.cat(parts, dim=1).cpu().numpy()
    return Standings(Standing(columns[0], columns[1]), Standing(columns[2], columns[3]))


def _stand(scores: Tensor, answers: Ragged, filters: Ragged, tile: int) -> Tensor:
    """(4, answers): better and ties, raw then filtered. Writes into the scores."""
    owner, answer = _places(answers, scores.device)
    own = scores[owner, answer]
    raw = _count(scores, owner, own, tile)
    scores[_places(filters, scores.device)] = -torch.inf
    scores[owner, answer] = own
    return torch.cat((raw, _count(scores, owner, own, tile)))


def _count(scores: Tensor, owner: Tensor, own: Tensor, tile: int) -> Tensor:
    counts = torch.empty(2, len(own), dtype=torch.int64, device=scores.device)
    step = max(1, tile // scores.shape[1])
    for start in range(0, len(own), step):
        part = slice(start, start + step)
        rows, mine = scores[owner[part]], own[part, None]
        counts[0, part] = (rows > mine).sum(1)
        counts[1, part] = (rows == mine).sum(1) - 1
    return counts


def _places(lists: Ragged, device: torch.device) -> tuple[Tensor, Tensor]:
    owners, values = lists.owners.astype(np.int64), lists.values.astype(np.int64)
    return torch.from_numpy(owners).to(device), torch.from_numpy(values).to(device)
