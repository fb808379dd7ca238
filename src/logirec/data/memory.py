"""Keeps the memory of `prepare` at what is in use, so that its peak does not hang on what an allocator hoards."""

import contextlib
import ctypes
import gc
from collections.abc import Iterator

import pyarrow as pa

# mallopt: blocks from the threshold on are mapped, and unmapped when freed.
_MMAP_THRESHOLD, _LARGE, _USUAL = -3, 1 << 20, 1 << 25


@contextlib.contextmanager
def hoarding_nothing() -> Iterator[None]:
    """Arrow's own allocator and glibc's defaults keep what they were once given; have both let it go.

    Afterwards as usual: training reuses its large blocks, and would be a third slower if each were mapped anew.
    """
    pool = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    _glibc("mallopt", _MMAP_THRESHOLD, _LARGE)
    try:
        yield
    finally:
        pa.set_memory_pool(pool)
        _glibc("mallopt", _MMAP_THRESHOLD, _USUAL)


def give_back_memory() -> None:
    gc.collect()
    _glibc("malloc_trim", 0)


def _glibc(function: str, *arguments: int) -> None:
    with contextlib.suppress(OSError, AttributeError):  # another C library: leave it alone
        getattr(ctypes.CDLL("libc.so.6"), function)(*arguments)
