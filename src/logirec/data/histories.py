"""Customers' histories as a table."""

from typing import Any

import numpy as np
from scipy import sparse


def histories(interactions: dict[str, np.ndarray], items: int) -> Any:
    """(customers, N) sparse: 1 where a customer had to do with an item, however often."""
    customers = int(interactions["user"].max(initial=-1)) + 1
    ones = np.ones(len(interactions["user"]), dtype=np.float32)
    table = sparse.csr_array((ones, (interactions["user"], interactions["item"])), shape=(customers, items))
    table.sum_duplicates()
    table.data[:] = 1
    return table
