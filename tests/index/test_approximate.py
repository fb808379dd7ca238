"""The approximate index: measured before it is used, close to the exact one, and refused where it is no good."""

import json
import shutil
from types import SimpleNamespace

import pytest
import torch

from logirec.errors import ArtifactError, InputError, UsageError
from logirec.index import approximate
from logirec.index.approximate import ApproximateIndex, build
from logirec.index.exact import ExactIndex
from logirec.model.artifact import TrainedModel
from logirec.model.evidence import Evidence
from logirec.recommender.answers import Request
from logirec.recommender.recommender import Recommender
from logirec.relation import Relation
from tests.index.test_exact import queries_of, random_model
from tests.model.worlds import small_model

pytest.importorskip("faiss", reason="the extra `ann` is not installed")


@pytest.fixture(scope="module")
def trained(trained_folder):
    return TrainedModel.load(trained_folder).model


@pytest.fixture(scope="module")
def folder(trained, trained_folder, tmp_path_factory):
    """A model folder with an index."""
    out = tmp_path_factory.mktemp("ann") / "model"
    shutil.copytree(trained_folder, out)
    build(trained, out)
    return out


def test_what_is_written_finds_what_it_says(trained, folder):
    settings = json.loads((folder / approximate.SETTINGS).read_text())
    assert settings["recall_at_10"] >= 0.99
    assert 4 * settings["followed"] <= trained.items
    index, exact = ApproximateIndex.read(trained, folder), ExactIndex(trained)
    queries = queries_of(trained, 200)
    found, truth = (i.scan(queries, Relation.CO_PURCHASE, 10) for i in (index, exact))
    hits = (found.rows[:, :, None] == truth.rows[:, None]).any(1).double().mean()
    assert hits > 0.97  # of other queries than it was measured on
    torch.testing.assert_close(found.scores[:, 0], truth.scores[:, 0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("relations", [Relation.CO_VIEW, [Relation.CO_VIEW, Relation.CO_PURCHASE] * 3])
def test_scores_are_those_of_the_exact_index(trained, folder, relations):
    index, exact, queries = ApproximateIndex.read(trained, folder), ExactIndex(trained), queries_of(trained, 6)
    rows = torch.randint(trained.items, (6, 7), generator=torch.Generator().manual_seed(0))
    expected = exact.scores_of(queries, relations, rows)
    torch.testing.assert_close(index.scores_of(queries, relations, rows), expected, rtol=1e-4, atol=1e-3)
    found = index.scan(queries, relations, 5)
    torch.testing.assert_close(found.scores, exact.scores_of(queries, relations, found.rows), rtol=1e-3, atol=1e-3)


def test_a_search_with_rules_is_exact(trained, folder):
    index, exact, queries = ApproximateIndex.read(trained, folder), ExactIndex(trained), queries_of(trained, 3)
    forbidden = torch.rand(trained.items, generator=torch.Generator().manual_seed(1)) < 0.9
    ours = index.search(queries, Relation.CO_PURCHASE, 10, forbidden)
    theirs = exact.search(queries, Relation.CO_PURCHASE, 10, forbidden)
    assert torch.equal(ours.rows, theirs.rows)
    few = torch.ones(trained.items, dtype=torch.bool)
    few[:4] = False
    assert sorted(index.search(queries, Relation.CO_PURCHASE, 10, few).rows[0].tolist())[-4:] == [0, 1, 2, 3]


def test_what_has_evidence_is_found_wherever_it_lies(trained, folder):
    index, exact, queries = ApproximateIndex.read(trained, folder), ExactIndex(trained), queries_of(trained, 3)
    far = exact.scores(queries, Relation.CO_PURCHASE).argmin(1)  # the last that the graph would find
    starts = torch.arange(trained.items + 1).clamp(max=3)  # one each for the first three items
    support = Evidence(starts, far.to(torch.int32), torch.full((2, 3), 1000.0)).of(torch.arange(3)[:, None])
    found, truth = (i.scan(queries, Relation.CO_PURCHASE, 10, support) for i in (index, exact))
    assert torch.equal(found.rows[:, 0], far)
    torch.testing.assert_close(found.scores[:, 0], truth.scores[:, 0], rtol=1e-3, atol=1e-2)
    allowed = torch.zeros(trained.items, dtype=torch.bool)
    assert torch.equal(index.search(queries, Relation.CO_PURCHASE, 4, allowed, support).rows[:, 0], far)
    allowed[far] = True
    best = index.search(queries, Relation.CO_PURCHASE, 4, allowed, support)
    assert torch.equal(best.rows, exact.search(queries, Relation.CO_PURCHASE, 4, allowed).rows)


def test_a_search_with_rules_and_evidence_is_exact(trained, folder):
    """However much of what has evidence is ruled out, and whatever is neither near nor has most of it."""
    index, exact, queries = ApproximateIndex.read(trained, folder), ExactIndex(trained), queries_of(trained, 8)
    members = torch.arange(8)[:, None]
    support = trained.evidence.of(members)
    for seed, top_k in ((1, 1), (2, 3), (3, 10)):
        forbidden = torch.rand(trained.items, generator=torch.Generator().manual_seed(seed)) < 0.9
        ours = index.search(queries, Relation.CO_PURCHASE, top_k, forbidden, support)
        scores = exact.scores(queries, Relation.CO_PURCHASE, support).masked_fill(forbidden, -torch.inf)
        torch.testing.assert_close(ours.scores, scores.topk(top_k, dim=1).values, rtol=1e-3, atol=1e-3)


def test_recommendations_are_nearly_those_of_the_exact_index(folder):
    exact, close = Recommender.load(folder), Recommender.load(folder, approximate=True)
    bought = exact.shelf.bought
    ids = [exact.shelf.vocabulary.item_ids[row] for row in range(60) if len(bought.of(row))]
    requests = [Request([item]) for item in ids[:20]] + [Request(ids[at : at + 2]) for at in range(20)]
    shared = gaps = 0.0
    for ours, theirs in zip(close.recommend_many(requests), exact.recommend_many(requests), strict=True):
        mine, other = ({one.item_id: one for one in answer} for answer in (ours, theirs))
        shared += len(mine.keys() & other.keys()) / len(other)
        gaps = max([gaps, *(abs(mine[i].confidence - other[i].confidence) for i in mine.keys() & other.keys())])
        assert ours.recommendations[0].because is not None
    assert shared / len(requests) > 0.97
    assert gaps < 0.15  # the rest of the catalogue is known by a sample


def test_what_the_graph_does_not_reach_is_found_all_the_same(folder, monkeypatch):
    """Asked for nearly everything, a graph comes up short."""
    exact, near = Recommender.load(folder), Recommender.load(folder, approximate=True)
    search = near.shelf.index.graph.search

    def short(asked, depth, params=None):
        distances, rows = search(asked, depth, params=params)
        rows[:, -2:] = -1
        return distances, rows

    items, basket = exact.shelf.items, exact.trained.vocabulary.item_ids[:1]
    with monkeypatch.context() as patched:
        patched.setattr(near.shelf.index, "graph", SimpleNamespace(**_of(near.shelf.index.graph), search=short))
        for top_k in (items - 40, items):
            found = [{one.item_id for one in made.recommend(basket, top_k, explain=False)} for made in (exact, near)]
            assert found[0] == found[1]


def _of(graph):
    return {name: getattr(graph, name) for name in ("reconstruct_batch", "storage", "ntotal", "d")}


def test_where_it_finds_too_little_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(approximate, "WANTED_RECALL", 1.01)
    with pytest.raises(InputError, match="no approximate index: following 80 items finds"):
        build(random_model(1), tmp_path)
    monkeypatch.undo()
    with pytest.raises(InputError, match="40 items"):
        build(small_model("default", items=40), tmp_path)
    assert not list(tmp_path.iterdir())


def test_training_writes_it_where_asked_for(leak_free, cli, tmp_path):
    wanted = ("--max-steps", "60", "--ann", "--quiet")
    result = cli("train", leak_free.folder, "--out", tmp_path / "model", *wanted)
    assert result.code == 0, result.err
    assert json.loads((tmp_path / "model" / "metrics.json").read_text())["approximate"]["recall_at_10"] >= 0.99
    item = TrainedModel.load(tmp_path / "model").vocabulary.item_ids[0]
    answered = cli("recommend", tmp_path / "model", "--basket", item, "--approximate", "--json")
    assert len(answered.json["recommendations"]) == 10


def test_a_model_that_is_refused_an_index_is_kept(leak_free, cli, tmp_path, monkeypatch):
    monkeypatch.setattr(approximate, "WANTED_RECALL", 1.01)
    result = cli("train", leak_free.folder, "--out", tmp_path / "model", "--max-steps", "2", "--ann", "--quiet")
    assert result.code == 0
    assert "no approximate index" in " ".join(result.out.split())
    refused = cli("recommend", tmp_path / "model", "--basket", "x", "--approximate")
    assert refused.code == 2
    assert "--ann" in refused.err


def test_on_a_gpu_it_is_refused(folder):
    with pytest.raises(UsageError, match="CPU"):
        Recommender.load(folder, "cuda", approximate=True)


def test_what_is_not_there_or_broken_is_said(trained, folder, tmp_path):
    with pytest.raises(UsageError, match="--ann"):
        ApproximateIndex.read(trained, tmp_path)
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    (broken / approximate.FILE).write_bytes(b"nothing of the kind")
    with pytest.raises(ArtifactError, match="train again"):
        ApproximateIndex.read(trained, broken)
    with pytest.raises(ArtifactError, match="does not belong"):
        ApproximateIndex.read(random_model(1), folder)
