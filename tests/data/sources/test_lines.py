import gzip

import pytest

from logirec.data.sources import lines
from logirec.data.sources.lines import Line, read_lines
from logirec.errors import InputError


@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_numbered_and_blank_ones_passed_over(tmp_path, packed):
    path = tmp_path / "file"
    text = b"\xef\xbb\xbffirst\r\n\n  \nsecond\nlast"
    path.write_bytes(gzip.compress(text) if packed else text)
    assert list(read_lines(path)) == [Line(1, b"first"), Line(4, b"second"), Line(5, b"last")]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 20])
def test_chunk_borders_do_not_matter(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(lines, "CHUNK", chunk)
    path = tmp_path / "file"
    expected = [b"x" * n for n in (1, 5, 2, 9, 3)]
    path.write_bytes(b"\n".join(expected) + b"\n")
    assert [line.text for line in read_lines(path)] == expected


@pytest.mark.parametrize("chunk", [3, 64])
def test_a_line_may_have_the_limit_and_no_more(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(lines, "MAX_LINE", 10)
    monkeypatch.setattr(lines, "CHUNK", chunk)
    path = tmp_path / "file"
    path.write_bytes(b"a" * 9 + b"\n" + b"b" * 10 + b"\n" + b"c" * 11 + b"\nd\n" + b"e" * 50)
    found = [(line.number, line.text) for line in read_lines(path)]
    assert found == [(1, b"a" * 9), (2, b"b" * 10), (3, None), (4, b"d"), (5, None)]


def test_truncated_gzip_is_one_error(tmp_path):
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(b"line\n" * 100_000)[:-20])
    with pytest.raises(InputError, match="truncated gzip"):
        list(read_lines(path))


def test_damaged_gzip_is_one_error(tmp_path):
    path = tmp_path / "file.gz"
    whole = bytearray(gzip.compress(bytes(range(256)) * 1000))
    whole[40:80] = b"\xff" * 40
    path.write_bytes(bytes(whole))
    with pytest.raises(InputError, match="gzip"):
        list(read_lines(path))


def test_a_gzip_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BOMB_FLOOR", 8 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\0" * (32 << 20)))
    with pytest.raises(InputError, match="bomb"):
        list(read_lines(path))


def test_a_missing_file_is_one_error(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        list(read_lines(tmp_path / "nothing"))
