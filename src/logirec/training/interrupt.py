"""Ctrl-C between two steps, never within one."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    asked = False


@contextmanager
def deferred() -> Iterator[Interruption]:
    """Notes the first signal for the loop to see; the second one stops at once."""
    interruption = Interruption()
    if threading.current_thread() is not threading.main_thread():
        yield interruption  # only the main thread may set handlers
        return

    def note(number: int, frame: FrameType | None) -> None:
        interruption.asked = True
        for name, handler in before.items():
            signal.signal(name, handler)

    before: dict[signal.Signals, Any] = {name: signal.signal(name, note) for name in SIGNALS}
    try:
        yield interruption
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
