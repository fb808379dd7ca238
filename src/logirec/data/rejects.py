"""What was left out of the input, why, and where it stood first.

Rejected: a line that could not be used (broken, of the wrong type, too long). Too many of them refuse the input.
Filtered: a sound line that a documented rule leaves out (a cancelled order, a link from an item to itself).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from logirec.errors import InputError

FIRST = 5  # line numbers kept per reason
UTF_8 = "write the file as UTF-8 (what Windows programs export: iconv -f cp1252 -t utf-8)"


@dataclass
class Reason:
    count: int = 0
    first_lines: list[int] = field(default_factory=list)

    def add(self, lines: list[int], count: int) -> None:
        self.count += count
        self.first_lines = sorted([*self.first_lines, *lines])[:FIRST]


class Rejects:
    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()  # read, by file
        self._reasons: dict[tuple[str, str, str], Reason] = {}  # (kind, file, reason)

    def reject(self, file: str, reason: str, line: int, count: int = 1) -> None:
        self.reject_all(file, reason, [line], count)

    def reject_all(self, file: str, reason: str, lines: list[int], count: int) -> None:
        self._reasons.setdefault(("rejected", file, reason), Reason()).add(lines, count)

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
    def lines_read(self) -> int:
        return self.lines.total()

    def check(self, max_bad: float, way_out: str = "") -> None:
        """Raise when more than max_bad of the lines of any file were rejected. `way_out`: what else can be done."""
        for file, read in self.lines.items():
            reasons = {r: seen for (kind, of, r), seen in self._reasons.items() if kind == "rejected" and of == file}
            rejected = sum(seen.count for seen in reasons.values())
            if rejected > max_bad * read:
                worst = sorted(reasons.items(), key=lambda r: -r[1].count)[:3]
                mend = UTF_8 if worst[0][0] == "not UTF-8" else "mend the input"
                ways = filter(None, (mend, way_out, "raise --max-bad"))
                raise InputError(
                    f"{file}: {rejected:,} of {read:,} lines rejected ({rejected / read:.1%}, allowed {max_bad:.1%}): "
                    f"{'; '.join(map(_described, worst))}; {' or '.join(ways)}"
                )

    def write(self, path: Path) -> None:
        path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in self.rows()))


def _described(reason: tuple[str, Reason]) -> str:
    name, seen = reason
    lines = ", ".join(map(str, seen.first_lines))
    more = ", ..." if seen.count > len(seen.first_lines) else ""
    return f"{name}, {seen.count:,} (line{'s' * (len(seen.first_lines) > 1)} {lines}{more})"
