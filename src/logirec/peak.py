"""How much memory a piece of work took at its most."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Peak:
    megabytes: float | None = None  # more than before; None where the system does not tell


@contextlib.contextmanager
def peak_memory() -> Iterator[Peak]:
    """Of this process's memory, not the GPU's. Linux tells the peak since it was last reset."""
    peak, before = Peak(), None
    with contextlib.suppress(OSError):
        _RESET.write_text("5")
        before = _kilobytes("VmRSS")
    yield peak
    if before is not None:
        peak.megabytes = max(0.0, round((_kilobytes("VmHWM") - before) / 1024, 1))


def _kilobytes(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0
