"""Lines of a text file, plain or gzip, in bounded memory, however the file is broken."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from logirec.errors import InputError

_open_gzip: Callable[..., IO[bytes]]
_GZIP_ERRORS: tuple[Any, ...]
try:  # about three times faster than zlib
    from isal import igzip, isal_zlib

    _open_gzip = igzip.open
    _GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error, isal_zlib.error)
except ImportError:
    _open_gzip = gzip.open  # type: ignore[assignment]
    _GZIP_ERRORS = (EOFError, gzip.BadGzipFile, zlib.error)

CHUNK = 1 << 20
MAX_LINE = 8 << 20  # bytes; the longest real metadata line seen is under 1 MB
# Text shrinks by 3 to 50 times in gzip. Far past that, and large, it is a bomb.
BOMB_RATIO, BOMB_FLOOR = 250, 64 << 20


NOT_TEXT = {
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
    b"PK\x03\x04": "a zip archive or an Excel file; unpack it, or save it as CSV",
}


class Line(NamedTuple):
    number: int  # 1-based
    text: bytes | None  # without its end; None where it was longer than MAX_LINE


def read_lines(path: Path, advance: Callable[[float], None] = lambda _: None) -> Iterator[Line]:
    """Every line that is not blank. `advance` is told the bytes read from disk."""
    number = 0
    pending: list[bytes] = []
    pending_size = 0
    for chunk in _chunks(path, advance):
        *ended, rest = chunk.split(b"\n")
        for text in ended:
            number += 1
            if pending_size:
                pending.append(text)
                pending_size += len(text)
                text = b"".join(pending) if pending_size <= MAX_LINE else b""
                too_long = pending_size > MAX_LINE
                pending, pending_size = [], 0
            else:
                too_long = len(text) > MAX_LINE
            line = _line(number, text, too_long)
            if line is not None:
                yield line
        pending_size += len(rest)
        # Past the limit only the length is kept, so one endless line costs no memory.
        pending = [*pending, rest] if 0 < pending_size <= MAX_LINE else []
    if pending_size:
        line = _line(number + 1, b"".join(pending), pending_size > MAX_LINE)
        if line is not None:
            yield line


def _line(number: int, text: bytes, too_long: bool) -> Line | None:
    if too_long:
        return Line(number, None)
    if number == 1:
        text = text.removeprefix(b"\xef\xbb\xbf")  # byte order mark
    text = text.strip(b"\r")
    return Line(number, text) if text.strip() else None


def starts_like_json(path: Path) -> bool:
    """Whether the first line that is not blank opens an object (or is too long to be anything else)."""
    first = next(iter(read_lines(path)), None)
    if first is None:
        raise InputError(f"{path.name}: the file is empty")
    text = first.text
    if text is not None and (text.strip() == b"[" or text.lstrip().startswith(b"[{")):
        raise InputError(f"{path.name}: a JSON array; write one object a line instead")
    return text is None or text.lstrip().startswith(b"{")


def is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _chunks(path: Path, advance: Callable[[float], None]) -> Iterator[bytes]:
    try:
        with path.open("rb") as raw:
            for start, what in NOT_TEXT.items():
                if raw.peek(4).startswith(start):
                    raise InputError(f"{path.name}: {what}")
            if not is_gzip(path):
                while chunk := raw.read(CHUNK):
                    advance(len(chunk))
                    yield chunk
                return
            unpacked = seen = 0
            with _open_gzip(raw, "rb") as file:
                while chunk := file.read(CHUNK):
                    unpacked += len(chunk)
                    packed = raw.tell()
                    if unpacked > BOMB_FLOOR and unpacked > BOMB_RATIO * packed:
                        raise InputError(
                            f"{path.name}: {packed:,} bytes of gzip unpack to more than {unpacked:,}; "
                            "refused as a gzip bomb: unpack it yourself if it is real"
                        )
                    advance(packed - seen)
                    seen = packed
                    yield chunk
    except _GZIP_ERRORS as error:
        raise InputError(f"{path.name}: broken or truncated gzip ({error}); fetch the file again") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
