"""Other people's pickles, read as data: builtin containers and defaultdict only, in a child with limits.

A pickle is a program. The child's unpickler refuses every name but a few containers, so nothing of it runs; the
limits on memory and time are for pickles that are merely huge. What comes back is msgpack, which holds no code.
"""

import pickle
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from logirec.errors import InputError

MEMORY = 2 << 30  # bytes of address space for the child
SECONDS = 120

ALLOWED: dict[tuple[str, str], type] = {
    **{("builtins", t.__name__): t for t in (set, frozenset, list, tuple, dict, int, float, str, bool, bytes)},
    **{("__builtin__", t.__name__): t for t in (set, frozenset, list, tuple, dict, int, float, str, bool)},
    ("collections", "defaultdict"): defaultdict,
}


class _Strict(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type:
        try:
            return ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"asks for {module}.{name}, which is not allowed") from None


def load(path: Path) -> Any:
    """The pickle's value with dicts as lists of pairs, tuples and sets as lists."""
    command = [sys.executable, "-P", __file__, str(path)]  # the file itself: -m would import the whole package
    try:
        child = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise InputError(f"{path.name}: reading this pickle took more than {SECONDS} s") from None
    if child.returncode:
        why = child.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"{path.name}: refused as a pickle of plain data ({why[-1] if why else 'child died'})")
    return msgspec.msgpack.decode(child.stdout)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return [[_plain(k), _plain(v)] for k, v in value.items()]
    if isinstance(value, set | frozenset):
        return sorted((_plain(v) for v in value), key=repr)
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _child(path: str) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    try:
        with Path(path).open("rb") as file:
            value = _Strict(file).load()
        sys.stdout.buffer.write(msgspec.msgpack.encode(_plain(value)))
    except BaseException as error:  # whatever a hostile file provokes, one line goes to the parent
        sys.stderr.write(f"{type(error).__name__}: {error}".splitlines()[0][:300])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_child(sys.argv[1]))
