"""Keeps the memory of `prepare` at what is in use, so that its peak does not hang on what an allocator hoards."""

import contextlib
from collections.abc import Iterator

import pyarrow as pa

from logirec.memory import glibc

# mallopt: blocks from the threshold on are mapped, and unmapped when freed.
_MMAP_THRESHOLD, _LARGE, _USUAL = -3, 1 << 20, 1 << 25


@contextlib.contextmanager
def hoarding_nothing() -> Iterator[None]:
    """Arrow's own allocator and glibc's defaults keep what they were once given; have both let it go.

    Afterwards as usual: training reuses its large blocks, and would be a third slower if each were mapped anew.
    """
    pool = pa.default_memory_pool()
    pa.set_memory_pool(pa.system_memory_pool())
    glibc("mallopt", _MMAP_THRESHOLD, _LARGE)
    try:
        yield
    finally:
        pa.set_memory_pool(pool)
        glibc("mallopt", _MMAP_THRESHOLD, _USUAL)
