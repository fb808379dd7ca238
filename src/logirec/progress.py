"""Progress on stderr: bars on a terminal, a line every few seconds elsewhere, nothing when quiet."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Task(Protocol):
    def advance(self, amount: float, note: str = "") -> None: ...


class Progress:
    """Silent: the base of the two that speak, and what the library uses when nobody watches."""

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        yield _Silent()


class _Silent:
    def advance(self, amount: float, note: str = "") -> None:
        pass


class Lines(Progress):
    """One line when a task starts and ends, and one every few seconds between."""

    def __init__(self, every: float = 5.0) -> None:
        self.every = every

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        task = _LineTask(self, name, total)
        yield task
        self.say(f"{name}: done in {time.monotonic() - task.started:.1f} s")

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)  # noqa: T201


class _LineTask:
    def __init__(self, lines: Lines, name: str, total: float | None) -> None:
        self.lines, self.name, self.total = lines, name, total
        self.started = self.spoke = time.monotonic()
        self.done = 0.0

    def advance(self, amount: float, note: str = "") -> None:
        self.done += amount
        now = time.monotonic()
        if now - self.spoke >= self.lines.every:
            self.spoke = now
            share = f" {100 * self.done / self.total:.0f} %" if self.total else f" {self.done:,.0f}"
            self.lines.say(f"{self.name}:{share} after {now - self.started:.0f} s{f'  {note}' if note else ''}")


class Bars(Progress):
    """A bar per task with rate and time left."""

    @contextmanager
    def task(self, name: str, total: float | None = None) -> Iterator[Task]:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress

        columns = (TextColumn("{task.description}"), BarColumn(bar_width=16), TaskProgressColumn())
        times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[note]}"))
        with RichProgress(*columns, *times, console=Console(stderr=True)) as bars:
            handle = bars.add_task(name, total=total, note="")

            class BarTask:
                def advance(self, amount: float, note: str = "") -> None:
                    bars.update(handle, advance=amount, note=note)

            yield BarTask()
            bars.update(handle, total=1, completed=1) if total is None else bars.update(handle, completed=total)


def for_terminal(quiet: bool) -> Progress:
    if quiet:
        return Progress()
    return Bars() if sys.stderr.isatty() else Lines()
