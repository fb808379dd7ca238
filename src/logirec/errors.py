"""Everything LogiRec raises on purpose.

LogiRecError            exit code 1 unless a branch says otherwise
├── UsageError          2  options that do not fit together
├── InputError          3  a file or value from outside that cannot be used
│   ├── UnknownItems    3  item ids that the catalogue does not hold
│   ├── QueryError      3  a query that cannot be read or asks for nothing
│   └── Diverged        3  settings with which the loss is no number any more
├── ArtifactError       4  a dataset or model folder that is corrupt or of another version
├── ResourceError       5  out of memory, disk or time
└── Interrupted       130  stopped between two steps, with a checkpoint

A message is one line: what is wrong, where, and what to do.
"""

from collections.abc import Sequence


class LogiRecError(Exception):
    exit_code = 1


class UsageError(LogiRecError):
    exit_code = 2


class InputError(LogiRecError):
    exit_code = 3


class UnknownItems(InputError):
    def __init__(self, item_ids: Sequence[str]) -> None:
        self.item_ids = tuple(item_ids)
        shown = ", ".join(repr(i) for i in self.item_ids[:5])
        more = f" and {len(self.item_ids) - 5} more" if len(self.item_ids) > 5 else ""
        super().__init__(f"not in the catalogue: {shown}{more}")


class QueryError(InputError):
    """`at` is the place in the text, from 0; None where there is no text. `why` repeats nothing of the text."""

    def __init__(self, why: str, at: int | None = None, found: str = "") -> None:
        where = "query" if at is None else f"query, at character {at + 1}"
        super().__init__(f"{where}: {found} where {why}" if found else f"{where}: {why}")
        self.why, self.at = f"{why} here" if found else why, at


class Diverged(InputError):
    pass


class ArtifactError(LogiRecError):
    exit_code = 4


class ResourceError(LogiRecError):
    exit_code = 5


class Interrupted(LogiRecError):
    exit_code = 130


LEAK_EXIT_CODE = 6  # `audit` on a leak-free dataset that leaks: a finding, not an error
