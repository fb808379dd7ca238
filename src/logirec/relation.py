"""The two kinds of link between items."""

from enum import IntEnum


class Relation(IntEnum):
    CO_PURCHASE = 0  # who bought the source also bought the target
    CO_VIEW = 1  # who looked at the source also looked at the target: mostly substitutes

    @property
    def label(self) -> str:
        return self.name.lower()
