import pytest

from logirec.errors import ArtifactError, UsageError
from logirec.folders import new_folder, read_manifest, write_manifest


def make(out, text="one", force=False):
    with new_folder(out, "thing", force) as folder:
        (folder / "file.txt").write_text(text)
        write_manifest(folder, "thing", 1, {"answer": 42})


def test_appears_whole_with_a_manifest_that_checks(tmp_path):
    make(tmp_path / "out")
    assert read_manifest(tmp_path / "out", "thing", 1)["answer"] == 42
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_leaves_nothing(tmp_path, error):
    def half():
        with new_folder(tmp_path / "out", "thing", False) as folder:
            (folder / "file.txt").write_text("half")
            raise error

    with pytest.raises(error):
        half()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_one(tmp_path):
    make(tmp_path / "out", "old")
    with pytest.raises(RuntimeError), new_folder(tmp_path / "out", "thing", True):
        raise RuntimeError
    assert (tmp_path / "out" / "file.txt").read_text() == "old"


def test_an_existing_folder_is_replaced_only_by_force(tmp_path):
    make(tmp_path / "out", "old")
    with pytest.raises(UsageError, match="--force"):
        make(tmp_path / "out", "new")
    make(tmp_path / "out", "new", force=True)
    assert (tmp_path / "out" / "file.txt").read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be written"):
        make(tmp_path / "file" / "out")


def test_a_folder_that_is_not_ours_is_never_replaced(tmp_path):
    (tmp_path / "holiday").mkdir()
    (tmp_path / "holiday" / "photo.jpg").write_text("x")
    with pytest.raises(UsageError, match="no thing folder"):
        make(tmp_path / "holiday", force=True)


def test_a_flipped_byte_is_noticed(tmp_path):
    make(tmp_path / "out")
    (tmp_path / "out" / "file.txt").write_text("onf")
    with pytest.raises(ArtifactError, match=r"file\.txt is not what was written"):
        read_manifest(tmp_path / "out", "thing", 1)


def test_missing_files_other_kinds_and_other_versions_are_refused(tmp_path):
    make(tmp_path / "out")
    with pytest.raises(ArtifactError, match="where a model is needed"):
        read_manifest(tmp_path / "out", "model", 1)
    with pytest.raises(ArtifactError, match="schema 1"):
        read_manifest(tmp_path / "out", "thing", 2)
    (tmp_path / "out" / "file.txt").unlink()
    with pytest.raises(ArtifactError, match="missing"):
        read_manifest(tmp_path / "out", "thing", 1)
    (tmp_path / "out" / "manifest.json").write_text("[]")
    with pytest.raises(ArtifactError, match="not a thing folder"):
        read_manifest(tmp_path / "out", "thing", 1)


def test_a_changed_manifest_is_noticed(tmp_path):
    make(tmp_path / "out")
    path = tmp_path / "out" / "manifest.json"
    path.write_text(path.read_text().replace("42", "43"))
    with pytest.raises(ArtifactError, match="manifest"):
        read_manifest(tmp_path / "out", "thing", 1)


def test_through_a_link_to_the_folder_it_points_to(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    make(tmp_path / "link")
    make(tmp_path / "link", "new", force=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "file.txt").read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]


def test_the_folder_one_is_in_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="the folder you are in"):
        make(tmp_path)
