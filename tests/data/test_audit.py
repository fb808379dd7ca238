"""The audit must stay silent on what is clean and speak of every leak that is planted."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from logirec.config import PrepareConfig
from logirec.data.audit import audit
from logirec.data.dataset import Dataset
from logirec.data.graph import matrix
from logirec.data.prepare import Inputs, prepare
from logirec.folders import read_manifest, write_manifest
from logirec.relation import Relation


def found(report, name, stage="test", kind=None):
    chosen = [c.found for c in report.checks if c.name == name and c.stage == stage and kind in (None, c.kind)]
    assert chosen, f"no check called {name}"
    return sum(chosen)


@pytest.fixture
def copy(leak_free, tmp_path):
    """The leak-free dataset, to be spoilt by hand: copy(file, table -> table)."""
    folder = tmp_path / "spoilt"
    shutil.copytree(leak_free.folder, folder)

    return lambda name, edit: _changed(folder, name, edit)


def _changed(folder, name, edit):
    content = read_manifest(folder, "dataset", 1)
    for key in ("files", "kind", "schema"):
        content.pop(key)
    path = folder / name
    pq.write_table(edit(pq.read_table(path)), path)
    write_manifest(folder, "dataset", 1, content)
    return Dataset.load(folder)


def reversed_rows(table):
    columns = {name: table.column(name) for name in table.column_names}
    columns["source"], columns["target"] = columns["target"], columns["source"]
    return pa.table(columns)


def merged(table, more):
    """Links stay sorted, as everywhere."""
    return pa.concat_tables([table, more.cast(table.schema)]).sort_by(
        [("relation", "ascending"), ("source", "ascending"), ("target", "ascending")]
    )


@pytest.mark.parametrize("name", ["leak_free", "cold_items"])
def test_clean_datasets_are_clean(request, name):
    report = audit(request.getfixturevalue(name))
    assert report.verdict == "clean"
    assert report.leaks == []


def test_baskets_are_not_judged(baskets):
    report = audit(baskets)
    assert report.verdict == "not judged"
    assert found(report, "basket seen", kind="high") > 0


def test_a_dataset_without_test_is_not_judged(tmp_path):
    (tmp_path / "links.csv").write_text("source,target\na,b\n")
    prepare(Inputs(tmp_path / "links.csv"), tmp_path / "out", PrepareConfig())
    assert audit(Dataset.load(tmp_path / "out")).verdict == "not judged"


def test_a_copied_test_link_is_found(copy, leak_free):
    test = pq.read_table(leak_free.folder / "links/test.parquet").slice(0, 3)
    report = audit(copy("links/train.parquet", lambda t: merged(t, test)))
    assert found(report, "copy or inverse") == 3
    assert report.verdict == "leaks"


def test_a_reversed_test_link_is_found(copy, leak_free):
    test = pq.read_table(leak_free.folder / "links/test.parquet").slice(0, 3)
    report = audit(copy("links/train.parquet", lambda t: merged(t, reversed_rows(test))))
    assert found(report, "reverse") == 3


def test_a_test_link_in_validation_is_found(copy, leak_free):
    test = pq.read_table(leak_free.folder / "links/test.parquet").slice(0, 2)
    report = audit(copy("links/valid.parquet", lambda t: merged(t, reversed_rows(test))))
    assert found(report, "in validation") == 2


def test_an_answer_that_training_learns_is_found(copy, leak_free):
    test = pq.read_table(leak_free.folder / "queries/test-high.parquet").slice(0, 1)
    report = audit(copy("queries/train-high.parquet", lambda t: pa.concat_tables([t, test])))
    assert found(report, "answer learnt", kind="high") == len(test.column("answers")[0])


def test_a_query_twice_is_found(copy):
    report = audit(copy("queries/test-low.parquet", lambda t: pa.concat_tables([t, t.slice(0, 1)])))
    assert found(report, "duplicate", kind="low") >= 1


def test_an_answer_that_is_derivable_is_found(copy, leak_free):
    train = leak_free.queries("train", "high").take(np.arange(1))
    known = pa.table(
        {
            "members": [train.members.list(0).tolist()],
            "answers": [train.answers.list(0).tolist()],
            "hardness": [[1] * len(train.hardness)],
            "known": [[]],
        }
    )
    report = audit(copy("queries/test-high.parquet", lambda t: pa.concat_tables([t, known.cast(t.schema)])))
    assert found(report, "lookup", kind="high") == len(train.hardness)
    assert found(report, "answer learnt", kind="high") == len(train.hardness)


def test_paper_protocol_leaks_as_it_must(paper):
    report = audit(paper)
    assert report.verdict == "leaks"
    assert found(report, "lookup", kind="high") > 0
    assert found(report, "copy or inverse") == 0


def test_facts(leak_free):
    facts = audit(leak_free).facts
    links = matrix(leak_free.graph("test").links[Relation.CO_PURCHASE], leak_free.items)
    mutual = links.multiply(links.T).nnz / links.nnz
    assert facts["reciprocal_share"] == pytest.approx(mutual)
    assert facts["high_test_answers_linked_from_all_members"] == 1.0
    assert 0 < facts["popularity_gini"] < 1


def test_gini_by_definition():
    from logirec.data.audit import _gini

    counts = np.array([0, 0, 1, 3, 6])
    by_definition = sum(abs(a - b) for a in counts for b in counts) / (2 * len(counts) * counts.sum())
    assert _gini(counts) == pytest.approx(by_definition)
    assert _gini(np.array([2, 2, 2])) == 0


def test_exit_codes(cli, copy, leak_free, paper):
    assert cli("audit", leak_free.folder).code == 0
    assert cli("audit", paper.folder, "--json").code == 0
    test = pq.read_table(leak_free.folder / "links/test.parquet").slice(0, 1)
    spoilt = copy("links/train.parquet", lambda t: merged(t, test))
    result = cli("audit", spoilt.folder, "--json")
    assert result.code == 6
    assert result.json["verdict"] == "leaks"
