"""item_id (the shop's name for a product) <-> row (its number inside): frozen, sorted, strict."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from logirec.errors import UnknownItems


class Vocabulary:
    def __init__(self, item_ids: Iterable[str]) -> None:
        self.item_ids = tuple(item_ids)
        if any(a >= b for a, b in pairwise(self.item_ids)):
            raise ValueError("item ids must be sorted and distinct")

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {item_id: row for row, item_id in enumerate(self.item_ids)}

    def __len__(self) -> int:
        return len(self.item_ids)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._row_of

    def rows(self, item_ids: Sequence[str]) -> np.ndarray:
        """Rows of the ids, in their order. One unknown id and the call raises, naming all of them."""
        unknown = [i for i in item_ids if i not in self._row_of]
        if unknown:
            raise UnknownItems(unknown)
        return np.array([self._row_of[i] for i in item_ids], dtype=np.int32)

    def ids(self, rows: Iterable[int]) -> list[str]:
        return [self.item_ids[row] for row in rows]
