"""Randomness that depends on a seed, a purpose and values, never on the order or number of other rows."""

import zlib
from collections.abc import Callable

import numpy as np

from logirec.data.graph import slices

SHARES = (0.7, 0.2, 0.1)


def mix(seed: int, purpose: str, *columns: np.ndarray) -> np.ndarray:
    """A random 64-bit number per row (splitmix64, chained over seed, purpose and columns).

    The purpose keeps draws apart: what is sampled must not hang on what was split by the same seed.
    """
    start = np.zeros(1, dtype=np.uint64)
    for value in (seed, zlib.crc32(purpose.encode())):
        _absorb(start, np.array([value], dtype=np.uint64))
    state = np.repeat(start, len(columns[0]))
    for column in columns:
        _absorb(state, column.astype(np.uint64))
    return state


def _absorb(state: np.ndarray, values: np.ndarray) -> None:
    """One round of splitmix64, in place."""
    state ^= values
    state += np.uint64(0x9E3779B97F4A7C15)
    state ^= state >> np.uint64(30)
    state *= np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(27)
    state *= np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)


def shuffled(rows: np.ndarray, seed: int, purpose: str) -> np.ndarray:
    """The distinct rows (Q, M) in a random order that does not depend on the order they come in."""
    if not len(rows):
        return rows
    order = np.argsort(mix(seed, purpose, *rows.T), kind="stable")
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[order][1:] != rows[order][:-1]).any(axis=1)  # equal rows have equal numbers: they are neighbours
    return rows[order[first]]


def split_stages(count: int, numbers: Callable[[slice], np.ndarray]) -> np.ndarray:
    """0, 1, 2 for 70/20/10 of the distinct random numbers; rows with equal numbers stay together.

    `numbers` gives those of a slice of the rows: they are made twice rather than kept beside their sorted copy.
    """
    everything = np.empty(count, dtype=np.uint64)
    for part in slices(count):
        everything[part] = numbers(part)
    everything.sort()
    bounds = _cuts(everything)
    stage = np.zeros(count, dtype=np.int8)
    for part in slices(count):
        own = numbers(part)
        for bound in bounds:
            stage[part] += own >= bound
    return stage


def _cuts(ascending: np.ndarray) -> list[np.uint64]:
    """The distinct values at 70 % and 90 % of the distinct values."""
    new = np.ones(len(ascending), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    distinct = int(np.count_nonzero(new))
    bounds = []
    for cut in (round(SHARES[0] * distinct), round((SHARES[0] + SHARES[1]) * distinct)):
        seen = 0
        for part in slices(len(ascending)):
            here = int(np.count_nonzero(new[part]))
            if cut < seen + here:
                bounds.append(ascending[part][new[part]][cut - seen])
                break
            seen += here
    return bounds
