"""Memory that is not in use, given back to the system."""

import contextlib
import ctypes
import gc
import mmap
from typing import Any

_PAGEOUT = 21  # madvise: the file has these pages
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENAS = -1, -3, -8  # mallopt


def give_back_memory() -> None:
    """What allocators keep for later."""
    gc.collect()
    glibc("malloc_trim", 0)


def ran_out(error: BaseException) -> bool:
    """Of memory: torch says it with a RuntimeError."""
    said = isinstance(error, RuntimeError) and ("out of memory" in str(error) or "allocate" in str(error))
    return said or isinstance(error, MemoryError)


def keep_memory() -> None:
    """For a service: what a batch needs is kept for the next one, in one place for all threads.

    Otherwise each batch has tens of megabytes mapped anew, and half of its time goes into clearing their pages.
    """
    for setting, value in ((_ARENAS, 1), (_MMAP_THRESHOLD, 1 << 25), (_TRIM_THRESHOLD, 1 << 30)):
        glibc("mallopt", setting, value)


def exempt_from_collection() -> None:
    """What is there now is there to stay: looking through a large catalogue for garbage would hold up requests."""
    gc.unfreeze()  # what was there before may have gone
    gc.collect()
    gc.freeze()


def page_out(address: int, length: int) -> None:
    """A mapped file's pages: they are read again when they are needed, so nothing is lost."""
    first = address // mmap.PAGESIZE * mmap.PAGESIZE
    glibc("madvise", ctypes.c_void_p(first), ctypes.c_size_t(address + length - first), _PAGEOUT)


def glibc(function: str, *arguments: Any) -> None:
    with contextlib.suppress(OSError, AttributeError):  # another C library: leave it alone
        getattr(ctypes.CDLL("libc.so.6"), function)(*arguments)
