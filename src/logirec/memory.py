"""Memory that is not in use, given back to the system."""

import contextlib
import ctypes
import gc
import mmap
from typing import Any

_PAGEOUT = 21  # madvise: not needed for now


def give_back_memory() -> None:
    """What allocators keep for later."""
    gc.collect()
    glibc("malloc_trim", 0)


def page_out(address: int, length: int) -> None:
    """A mapped file's pages: they are read again when they are needed, so nothing is lost."""
    first = address // mmap.PAGESIZE * mmap.PAGESIZE
    glibc("madvise", ctypes.c_void_p(first), ctypes.c_size_t(address + length - first), _PAGEOUT)


def glibc(function: str, *arguments: Any) -> None:
    with contextlib.suppress(OSError, AttributeError):  # another C library: leave it alone
        getattr(ctypes.CDLL("libc.so.6"), function)(*arguments)
