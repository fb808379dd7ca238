import pytest

from logirec import Vocabulary
from logirec.errors import UnknownItems


def test_ids_and_rows_round_trip():
    vocabulary = Vocabulary(["a", "b", "c"])
    assert vocabulary.rows(["c", "a", "c"]).tolist() == [2, 0, 2]
    assert vocabulary.ids([2, 0]) == ["c", "a"]
    assert len(vocabulary) == 3
    assert "b" in vocabulary
    assert "x" not in vocabulary


def test_unknown_ids_are_all_named():
    with pytest.raises(UnknownItems, match="'x', 'y'") as error:
        Vocabulary(["a", "b"]).rows(["x", "a", "y"])
    assert error.value.item_ids == ("x", "y")
    assert error.value.exit_code == 3


@pytest.mark.parametrize("ids", [["b", "a"], ["a", "a"]])
def test_unsorted_or_repeated_ids_are_refused(ids):
    with pytest.raises(ValueError, match="sorted and distinct"):
        Vocabulary(ids)
