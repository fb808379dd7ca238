"""What was left out of the input, why, and where it stood first.

Rejected: a line that could not be used (broken, of the wrong type, too long). Too many of them refuse the input.
Filtered: a sound line that a documented rule leaves out (a cancelled order, a link from an item to itself).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from logirec.errors import InputError

FIRST = 5  # line numbers kept per reason


@dataclass
class Reason:
    count: int = 0
    first_lines: list[int] = field(default_factory=list)

    def add(self, lines: list[int], count: int) -> None:
        self.count += count
        self.first_lines = sorted([*self.first_lines, *lines])[:FIRST]


class Rejects:
    def __init__(self) -> None:
        self.lines_read = 0
        self._reasons: dict[tuple[str, str, str], Reason] = {}  # (kind, file, reason)

    def reject(self, file: str, reason: str, line: int, count: int = 1) -> None:
        self._reasons.setdefault(("rejected", file, reason), Reason()).add([line], count)

    def filter(self, file: str, reason: str, lines: list[int], count: int) -> None:
        if count:
            self._reasons.setdefault(("filtered", file, reason), Reason()).add(lines, count)

    def rows(self) -> Iterator[dict[str, object]]:
        for (kind, file, reason), seen in sorted(self._reasons.items()):
            yield {
                "kind": kind,
                "file": file,
                "reason": reason,
                "count": seen.count,
                "first_lines": seen.first_lines,
            }

    def totals(self, kind: str) -> dict[str, int]:
        out: dict[str, int] = {}
        for (of_kind, _, reason), seen in sorted(self._reasons.items()):
            if of_kind == kind:
                out[reason] = out.get(reason, 0) + seen.count
        return out

    @property
    def rejected(self) -> int:
        return sum(self.totals("rejected").values())

    def check(self, max_bad: float) -> None:
        """Raise when more than max_bad of the lines read were rejected."""
        if self.rejected <= max_bad * self.lines_read:
            return
        worst = sorted((r for r in self._reasons.items() if r[0][0] == "rejected"), key=lambda r: -r[1].count)[:3]
        parts = [
            f"{file}: {reason}, {seen.count:,} (line{'s' * (len(seen.first_lines) > 1)} "
            f"{', '.join(map(str, seen.first_lines))}{', ...' if seen.count > len(seen.first_lines) else ''})"
            for (_, file, reason), seen in worst
        ]
        share = self.rejected / self.lines_read
        raise InputError(
            f"{self.rejected:,} of {self.lines_read:,} lines rejected ({share:.1%}, allowed {max_bad:.1%}): "
            f"{'; '.join(parts)}; mend the input or raise --max-bad"
        )

    def write(self, path: Path) -> None:
        path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in self.rows()))
