"""Keeps the memory of `prepare` at what is in use, so that its peak does not hang on what an allocator hoards."""

import contextlib
import ctypes
import gc

import pyarrow as pa

_MMAP_THRESHOLD, _LARGE = -3, 1 << 20  # mallopt: blocks from here on are mapped, and unmapped when freed


def hoard_nothing() -> None:
    """Arrow's own allocator and glibc's defaults keep what they were once given; have both let it go."""
    pa.set_memory_pool(pa.system_memory_pool())
    _glibc("mallopt", _MMAP_THRESHOLD, _LARGE)


def give_back_memory() -> None:
    gc.collect()
    _glibc("malloc_trim", 0)


def _glibc(function: str, *arguments: int) -> None:
    with contextlib.suppress(OSError, AttributeError):  # another C library: leave it alone
        getattr(ctypes.CDLL("libc.so.6"), function)(*arguments)
