import pickle
from collections import OrderedDict, defaultdict

import pytest

from logirec.data.sources import pickles
from logirec.errors import InputError


def dump(path, value, protocol=4):
    path.write_bytes(pickle.dumps(value, protocol))
    return path


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_containers_come_through(tmp_path, protocol):
    value = defaultdict(set, {(1, (2, -3)): {5, 4}, "name": {7}})
    found = pickles.load(dump(tmp_path / "x.pkl", value, protocol))
    assert sorted(found, key=str) == sorted([[[1, [2, -3]], [4, 5]], ["name", [7]]], key=str)


class Command:
    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def test_os_system_is_refused_and_not_run(tmp_path):
    import os

    trap = tmp_path / "trap"
    with pytest.raises(InputError, match=r"refused.*system"):
        pickles.load(dump(tmp_path / "x.pkl", Command(os.system, f"touch {trap}")))
    assert not trap.exists()


@pytest.mark.parametrize("function", [eval, exec, getattr, open, __import__, compile])
def test_dangerous_builtins_are_refused(tmp_path, function):
    with pytest.raises(InputError, match="not allowed"):
        pickles.load(dump(tmp_path / "x.pkl", Command(function, "1", "2")))


def test_other_classes_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"collections\.OrderedDict"):
        pickles.load(dump(tmp_path / "x.pkl", OrderedDict(a=1)))


def test_a_broken_pickle_is_one_line(tmp_path):
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps([1, 2, 3])[:-2])
    with pytest.raises(InputError) as error:
        pickles.load(path)
    assert "\n" not in str(error.value)


def test_memory_is_limited(tmp_path):
    path = tmp_path / "huge.pkl"
    # BYTEARRAY8 of 64 GB: asks for the memory before it reads a byte.
    path.write_bytes(b"\x80\x05\x96" + (64 << 30).to_bytes(8, "little") + b".")
    with pytest.raises(InputError):
        pickles.load(path)


def test_time_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(pickles, "SECONDS", 0.01)
    with pytest.raises(InputError, match="took more than"):
        pickles.load(dump(tmp_path / "x.pkl", [1]))
