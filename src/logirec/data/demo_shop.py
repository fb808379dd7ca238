"""A believable shop whose right answers are known, at any size, from a seed.

Products come in families of 20, each in one theme (a coffee family: espresso machines, grinders, what goes with them).
A family has, by slot:
   0- 3  four versions of the first head      4- 7  four of the second head
   8-13  three accessories of the first head, two versions each
  14-17  two accessories of the second head, two versions each
  18-19  what only a buyer of both heads needs
Planted, and what the tests ask for:
  direction     a head calls for its accessories, hardly ever the other way round
  substitutes   versions of one product are viewed together (and sometimes bought together: the noise that NOT removes)
  sets          {first head, second head} has one common complement, slots 18 and 19, last in either head's own list
  popularity    families follow a power law; links and orders lean to the popular ones
  noise         a share of the links and order lines is random
Item numbers are scattered over the ids, so that nothing can be read off an id.
Everything is made block by block from (seed, block): ten million items take no more memory than ten thousand.
"""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from logirec.data.demo_names import BRANDS, SERIES, THEMES
from logirec.errors import UsageError
from logirec.relation import Relation

FAMILY = 20
MIN_ITEMS, MAX_ITEMS = 200, 10_000_000
BLOCK = 500  # families made at once

FIRST_HEAD, SECOND_HEAD = range(4), range(4, 8)
FIRST_ACCESSORIES, SECOND_ACCESSORIES, FOR_BOTH = range(8, 14), range(14, 18), range(18, 20)
# Slots that are versions of one product.
VERSIONS = [
    range(4),
    range(4, 8),
    *(range(s, s + 2) for s in range(8, 18, 2)),
    range(18, 19),
    range(19, 20),
]
PRODUCT_OF_SLOT = [p for p, slots in enumerate(VERSIONS) for _ in slots]

POPULAR = 4.0  # family = F * u ** POPULAR: the larger, the fewer families take most of the sales
NOISE_BUYS, NOISE_VIEWS = 1.5, 0.6  # random links per item
ORDERS_PER_ITEM, SESSIONS_PER_ITEM = 12, 6


def _template() -> list[tuple[int, int, Relation, float]]:
    """(source slot, target slot, relation, chance) of the links within a family, strongest first."""
    links: list[tuple[int, int, Relation, float]] = []
    buy, view = Relation.CO_PURCHASE, Relation.CO_VIEW
    for heads, accessories in ((FIRST_HEAD, FIRST_ACCESSORIES), (SECOND_HEAD, SECOND_ACCESSORIES)):
        links += [(h, a, buy, 0.95) for h in heads for a in accessories]
        links += [(a, h, buy, 0.04) for h in heads for a in accessories]  # the planted direction
        links += [
            (a, b, buy, 0.35) for a in accessories for b in accessories if PRODUCT_OF_SLOT[a] != PRODUCT_OF_SLOT[b]
        ]
    links += [(a, b, buy, 0.5 if a % 4 == b % 4 else 0.15) for a in FIRST_HEAD for b in SECOND_HEAD]
    links += [(h, c, buy, 0.9) for h in (*FIRST_HEAD, *SECOND_HEAD) for c in FOR_BOTH]
    for slots in VERSIONS:
        links += [(a, b, view, 0.9) for a in slots for b in slots if a != b]
        links += [(a, b, buy, 0.12) for a in slots for b in slots if a != b]
    return links


_LINKS = _template()
_SOURCE, _TARGET, _RELATION = (np.array([link[i] for link in _LINKS]) for i in range(3))
_CHANCE = np.array([link[3] for link in _LINKS])


Lines = Callable[[int, int], tuple[np.ndarray, np.ndarray, np.random.Generator]]


class Planted(NamedTuple):
    """A basket and what the shop's maker put there as its answers."""

    basket: tuple[str, ...]
    complements: tuple[str, ...]
    substitutes: tuple[str, ...]


class DemoShop:
    def __init__(self, items: int = 2_000, seed: int = 0) -> None:
        if not MIN_ITEMS <= items <= MAX_ITEMS:
            raise UsageError(f"a demo shop has {MIN_ITEMS:,} to {MAX_ITEMS:,} items, not {items:,}")
        if not 0 <= seed < 2**63:
            raise UsageError(f"a seed is a number from 0 to 2^63 - 1, not {seed}")
        self.families = -(-items // FAMILY)
        self.items = self.families * FAMILY
        self.seed = seed
        self._digits = max(6, len(str(self.items - 1)))
        # number -> (step * number + shift) mod items is a permutation when step and items have no common factor.
        random = np.random.default_rng([seed, 0])
        self._step = next(
            s for s in random.integers(self.items // 3, self.items, 1000).tolist() if np.gcd(s, self.items) == 1
        )
        self._shift = int(random.integers(self.items))

    # Names ------------------------------------------------------------------------------------------------------

    def item_ids(self, numbers: np.ndarray) -> list[str]:
        scattered = (numbers.astype(np.int64) * self._step + self._shift) % self.items
        return [f"P{n:0{self._digits}d}" for n in scattered.tolist()]

    def product(self, number: int) -> tuple[str, str, str]:
        """title, brand, category."""
        family, slot = divmod(number, FAMILY)
        theme = THEMES[family % len(THEMES)]
        types = (
            theme.first_head,
            theme.second_head,
            *theme.first_accessories,
            *theme.second_accessories,
            *theme.for_both,
        )
        kind = PRODUCT_OF_SLOT[slot]
        brand = BRANDS[(family * 7 + slot * 3) % len(BRANDS)]
        round_, name = divmod(family // len(THEMES), len(SERIES))
        series = f"{SERIES[name]} {round_ + 1}" if round_ else SERIES[name]
        return f"{brand} {series} {types[kind]}", brand, f"{theme.department} > {types[kind]}"

    # Links ------------------------------------------------------------------------------------------------------

    def link_blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """source, target, relation by item number; sources ascending from block to block, strongest links first."""
        for first in range(0, self.families, BLOCK):
            families = np.arange(first, min(first + BLOCK, self.families))
            random = np.random.default_rng([self.seed, 1, first])
            kept = random.random((len(families), len(_CHANCE))) < _CHANCE
            family, link = np.nonzero(kept)
            base = families[family] * FAMILY
            noise = [
                self._noise(random, families, rate, relation)
                for rate, relation in ((NOISE_BUYS, Relation.CO_PURCHASE), (NOISE_VIEWS, Relation.CO_VIEW))
            ]
            source = np.concatenate([base + _SOURCE[link], *(n[0] for n in noise)])
            target = np.concatenate([base + _TARGET[link], *(n[1] for n in noise)])
            relation = np.concatenate([_RELATION[link], *(n[2] for n in noise)])
            order = np.argsort(source, kind="stable")
            yield source[order], target[order], relation[order]

    def _noise(
        self, random: np.random.Generator, families: np.ndarray, rate: float, relation: Relation
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        count = random.poisson(rate * len(families) * FAMILY)
        source = families[random.integers(len(families), size=count)] * FAMILY + random.integers(FAMILY, size=count)
        target = self._popular_families(random, count) * FAMILY + random.integers(FAMILY, size=count)
        differ = source != target
        return source[differ], target[differ], np.full(int(differ.sum()), int(relation))

    def _popular_families(self, random: np.random.Generator, count: int) -> np.ndarray:
        return (self.families * random.random(count) ** POPULAR).astype(np.int64)

    def write_products(self, path: Path) -> int:
        """Amazon-style JSON lines; returns the number of links written, repeats included."""
        encoder = msgspec.json.Encoder()
        written = 0
        with path.open("wb") as file:
            for block, (source, target, relation) in enumerate(self.link_blocks()):
                first = block * BLOCK * FAMILY
                last = min(first + BLOCK * FAMILY, self.items)
                ids = self.item_ids(np.arange(first, last))
                targets = self.item_ids(target)
                rows = np.searchsorted(source, np.arange(first, last + 1)).tolist()
                bought = (relation == int(Relation.CO_PURCHASE)).tolist()
                lines = []
                for number, item_id, start, end in zip(range(first, last), ids, rows, rows[1:], strict=False):
                    title, brand, category = self.product(number)
                    record = {
                        "asin": item_id,
                        "title": title,
                        "brand": brand,
                        "category": category.split(" > "),
                        "also_buy": [targets[i] for i in range(start, end) if bought[i]],
                        "also_view": [targets[i] for i in range(start, end) if not bought[i]],
                    }
                    lines.append(encoder.encode(record))
                file.write(b"\n".join(lines) + b"\n")
                written += len(source)
        return written

    # Orders and views -------------------------------------------------------------------------------------------

    def write_orders(self, path: Path, orders: int | None = None) -> int:
        """order_id, item_id, time, customer_id, quantity; oldest first; returns the number of lines."""
        total = orders or self.items * ORDERS_PER_ITEM
        return self._write_lines(path, ("order_id", "item_id", "time", "customer_id", "quantity"), total, self._orders)

    def write_views(self, path: Path, sessions: int | None = None) -> int:
        total = sessions or self.items * SESSIONS_PER_ITEM
        return self._write_lines(path, ("session_id", "item_id"), total, self._sessions)

    def _write_lines(self, path: Path, header: tuple[str, ...], total: int, make: Lines) -> int:
        written = 0
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            for first in range(0, total, 10_000):
                count = min(10_000, total - first)
                owner, item, random = make(first, count)
                ids = self.item_ids(item)
                columns: list[list[object]] = [(owner + first + 1).tolist(), ids]  # type: ignore[list-item]
                if len(header) > 2:
                    minutes = (first + owner) * 7
                    times = np.datetime64("2025-01-01T08:00") + minutes.astype("timedelta64[m]")
                    customers = random.integers(1, max(2, total // 8), size=count)[owner]
                    quantity = 1 + (random.random(len(owner)) < 0.1)
                    columns += [np.datetime_as_string(times).tolist(), customers.tolist(), quantity.tolist()]
                writer.writerows(zip(*columns, strict=True))
                written += len(owner)
        return written

    def _orders(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
        """Order and item number of the lines of `count` orders. What an order holds is its story:

        30 %  a first head and some of its accessories
        20 %  a second head and some of its accessories
        20 %  both heads and what only they together need
        30 %  a restock: accessories of two families, no head
        """
        random = np.random.default_rng([self.seed, 2, first])
        story = np.searchsorted([0.3, 0.5, 0.7], random.random(count), side="right")
        base = self._popular_families(random, count) * FAMILY
        other = self._popular_families(random, count) * FAMILY
        version = random.integers(4, size=count)
        lines: list[tuple[np.ndarray, np.ndarray]] = []

        def add(mask: np.ndarray, item: np.ndarray, chance: float = 1.0) -> None:
            orders = np.flatnonzero(mask & (random.random(count) < chance))
            lines.append((orders, np.broadcast_to(item, count)[orders]))

        first_head, second_head = (story == 0) | (story == 2), (story == 1) | (story == 2)
        add(first_head, base + version)
        add(second_head, base + 4 + version)
        for heads, slots in ((story == 0, FIRST_ACCESSORIES), (story == 1, SECOND_ACCESSORIES)):
            for slot in slots[::2]:
                add(heads, base + slot + random.integers(2, size=count), 0.55)
        add(story == 2, base + FOR_BOTH[0], 0.85)
        add(story == 2, base + FOR_BOTH[1], 0.6)
        for family in (base, other):
            add(story == 3, family + 8 + random.integers(10, size=count))
            add(story == 3, family + 8 + random.integers(10, size=count), 0.4)
        add(np.ones(count, dtype=bool), other + random.integers(FAMILY, size=count), 0.1)  # noise
        return (*_merged(lines), random)

    def _sessions(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
        """Two to four versions of one product looked at, and now and then something else."""
        random = np.random.default_rng([self.seed, 3, first])
        base = self._popular_families(random, count) * FAMILY
        product = random.integers(7, size=count)
        start = np.array([slots[0] for slots in VERSIONS])[product]
        versions = np.array([len(slots) for slots in VERSIONS])[product]
        lines = []
        for step in range(4):
            looked = (step < versions) & ((step < 2) | (random.random(count) < 0.6))
            at = np.flatnonzero(looked)
            lines.append((at, (base + start + (step + random.integers(versions)) % versions)[at]))
        at = np.flatnonzero(random.random(count) < 0.1)
        lines.append((at, self._popular_families(random, len(at)) * FAMILY + random.integers(FAMILY, size=len(at))))
        return (*_merged(lines), random)

    # What was planted -------------------------------------------------------------------------------------------

    def planted_singles(self, families: int) -> list[Planted]:
        """First heads of the first families: their accessories are right, their other versions are not."""
        return [
            self._planted(
                [f * FAMILY],
                [f * FAMILY + s for s in FIRST_ACCESSORIES],
                [f * FAMILY + s for s in range(1, 4)],
            )
            for f in range(min(families, self.families))
        ]

    def planted_sets(self, families: int) -> list[Planted]:
        """Both heads of a family: what only they together need is right."""
        return [
            self._planted(
                [f * FAMILY, f * FAMILY + 4],
                [f * FAMILY + s for s in FOR_BOTH],
                [f * FAMILY + s for s in (1, 2, 3, 5, 6, 7)],
            )
            for f in range(min(families, self.families))
        ]

    def _planted(self, *groups: list[int]) -> Planted:
        return Planted(*(tuple(self.item_ids(np.array(group))) for group in groups))


def _merged(lines: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Sorted by order, an item once per order."""
    owner, item = (np.concatenate([line[i] for line in lines]) for i in range(2))
    rows = np.unique(np.column_stack([owner, item]), axis=0)
    return rows[:, 0], rows[:, 1]
