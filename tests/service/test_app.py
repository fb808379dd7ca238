"""The service as a client meets it: answers, limits at their numbers, bad input of every kind, and models swapped."""

import json
import logging
import shutil

import pytest
from starlette.testclient import TestClient

from logirec.config import ServiceConfig
from logirec.recommender.recommender import Recommender
from logirec.service.app import create_app
from logirec.service.models import Models

KEY = "a-key-of-some-length"


@pytest.fixture(scope="module")
def models(trained_folder):
    return Models(trained_folder)


@pytest.fixture(scope="module")
def ids(models):
    return models.current.recommender.shelf.vocabulary.item_ids


def client_of(models, key=None, **limits):
    return TestClient(create_app(models, ServiceConfig(**limits), key), raise_server_exceptions=False)


@pytest.fixture(scope="module")
def client(models):
    with client_of(models) as client:
        yield client


def error_of(response):
    """The one shape of errors, and nothing of a traceback in it."""
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "at", "request_id"}
    assert body["error"]["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in response.text
    return body["error"]


def test_an_answer_is_the_recommenders(client, ids, trained_folder):
    asked = {"basket": [ids[1], ids[0], ids[1], "no such item"], "top_k": 4}
    found = client.post("/v1/recommend", json=asked).json()
    expected = Recommender.load(trained_folder).recommend(ids[:2], 4)
    assert [one["item_id"] for one in found["recommendations"]] == [one.item_id for one in expected]
    assert found["unknown"] == ["no such item"]
    assert found["recommendations"][0]["because"]["contributions"][0]["item_id"] == ids[0]
    plain = client.post("/v1/recommend", json={**asked, "explain": False}).json()
    assert plain["recommendations"][0]["because"] is None


def test_a_query_as_text_and_as_json(client, ids):
    text = f"complement({ids[0]} & {ids[1]}) & ~substitute({ids[0]})"
    value = {"and": [{"complement": [ids[1], ids[0]]}, {"not": {"substitute": [ids[0]]}}]}
    answers = [client.post("/v1/recommend", json={"query": query}).json() for query in (text, value)]
    assert answers[0] == answers[1]
    assert answers[0]["query"] == text


def test_a_wrong_query_says_where(client):
    error = error_of(client.post("/v1/recommend", json={"query": "complement(secret-thing"}))
    assert (error["code"], error["at"]) == ("query", 23)
    assert "secret" not in error["message"]


def test_several_at_once_fail_one_by_one(client, ids):
    asked = [{"basket": [ids[0]], "top_k": 2}, {"basket": ["nothing"]}, {"query": "complement("}, {"basket": [ids[0]]}]
    found = client.post("/v1/recommend/batch", json={"requests": asked}).json()["answers"]
    assert len(found[0]["recommendations"]) == 2
    assert found[1]["error"]["code"] == "unknown_items"
    assert found[2]["error"]["code"] == "query"
    assert len(found[3]["recommendations"]) == 10


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_limits_hold_at_their_number(models, ids, more):
    status = 422 if more > 0 else 200
    with client_of(models, max_basket=5, max_top_k=7, max_batch=3, max_body=400) as client:
        basket = {"basket": list(ids[: 5 + more]), "explain": False}
        assert client.post("/v1/recommend", json=basket).status_code == status
        query = {"query": f"complement({' & '.join(ids[: 5 + more])})", "explain": False}
        assert client.post("/v1/recommend", json=query).status_code == status
        assert client.post("/v1/recommend", json={"basket": [ids[0]], "top_k": 7 + more}).status_code == status
        many = {"requests": [{"basket": [ids[0]], "top_k": 1}] * (3 + more)}
        assert client.post("/v1/recommend/batch", json=many).status_code == status
        body = json.dumps({"basket": [ids[0]]}).ljust(400 + more)
        large = client.post("/v1/recommend", content=body)
        assert large.status_code == (413 if more > 0 else 200)


def test_a_body_that_does_not_say_its_length_is_measured(models):
    def parts():
        for _ in range(100):
            yield b" " * 1000

    with client_of(models) as client:
        response = client.post("/v1/recommend", content=parts())
        assert "content-length" not in response.request.headers
        assert error_of(response)["code"] == "too_large"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        b"[]",
        b"null",
        b"{}",
        b'{"basket": []}',
        b'{"basket": "A"}',
        b'{"basket": [1]}',
        b'{"basket": [""]}',
        b'{"basket": [null]}',
        b'{"basket": ["A"], "top_k": 0}',
        b'{"basket": ["A"], "top_k": -1}',
        b'{"basket": ["A"], "top_k": NaN}',
        b'{"basket": ["A"], "top_k": 1e400}',
        b'{"basket": ["A"], "top_k": "5"}',
        b'{"basket": ["A"], "top_k": true}',
        b'{"basket": ["A"], "top_k": 99999999999999999999999}',
        b'{"basket": ["A"], "secret": 1}',
        b'{"basket": ["A\xff"]}',
        b'{"basket": ["\\ud800"]}',
        b'{"query": 5}',
        b'{"query": {}}',
        b'{"query": {"secret": []}}',
        b'{"query": ' + b'{"not": ' * 5000 + b"1" + b"}" * 5000 + b"}",
        b'{"basket": ' + b"[" * 20000 + b"]" * 20000 + b"}",
        b'{"query": "' + b"(" * 19000 + b'"}',
        b'{"basket": ["nothing like it"]}',
    ],
)
def test_bad_input_is_422_in_our_words(client, body):
    response = client.post("/v1/recommend", content=body)
    assert response.status_code == 422
    message = error_of(response)["message"]
    assert message
    assert "secret" not in response.text
    assert "nothing like it" not in response.text
    assert len(message) < 500


def test_ten_megabytes_are_refused(client):
    response = client.post("/v1/recommend", content=b"x" * 10_000_000)
    assert response.status_code == 413
    error_of(response)


def test_items_are_searched_and_looked_up(client, models):
    item = models.current.recommender.trained.catalogue.item(3)
    found = client.get("/v1/items", params={"search": item.title, "limit": 5}).json()["items"]
    assert item.item_id in [one["item_id"] for one in found]
    assert client.get(f"/v1/items/{item.item_id}").json()["title"] == item.title
    assert client.get("/v1/items", params={"search": '"; DROP TABLE items'}).json() == {"items": []}
    assert error_of(client.get("/v1/items/nothing"))["code"] == "http"
    for limit, status in ((0, 422), (1, 200), (100, 200), (101, 422)):
        assert client.get("/v1/items", params={"search": "a", "limit": limit}).status_code == status


def test_direction_model_and_health(client, ids):
    found = client.get("/v1/direction", params={"first": ids[0], "second": ids[1]}).json()
    assert found["forward"] != found["backward"]
    assert client.get("/v1/direction", params={"first": ids[0], "second": ids[0]}).status_code == 422
    about = client.get("/v1/model").json()
    assert about["items"] == len(ids)
    assert about["metrics"]["low"]["filtered"]["mrr"] >= 0
    assert about["limits"]["max_basket"] == 50
    assert client.get("/livez").json() == {"status": "alive"}
    assert client.get("/readyz").status_code == 200


def test_what_machines_read(client, ids, caplog):
    with caplog.at_level(logging.INFO, "logirec.access"):
        response = client.post("/v1/recommend", json={"basket": [ids[0]]})
        client.get("/no/such/path")
    lines = [json.loads(record.message) for record in caplog.records if record.name == "logirec.access"]
    assert lines[0]["request_id"] == response.headers["x-request-id"]
    assert (lines[0]["path"], lines[0]["status"]) == ("/v1/recommend", 200)
    assert lines[1]["path"] == "other"
    text = client.get("/metrics").text
    assert 'logirec_requests_total{path="/v1/recommend",status="200"}' in text
    assert "/no/such/path" not in text
    assert "logirec_batch_size_count" in text


def test_every_status_is_documented_and_wrong_methods_too(client, ids):
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths["/v1/recommend"]["post"]["responses"]) == {"200", "401", "413", "422", "503"}
    assert client.get("/v1/recommend").status_code == 405
    error_of(client.get("/v1/recommend"))
    assert paths["/v1/recommend"]["post"]["requestBody"]["content"]["application/json"]["schema"]["examples"]


def test_security_headers_are_on_every_answer(client):
    for path in ("/livez", "/nothing", "/v1/model"):
        headers = client.get(path).headers
        assert "script" not in headers["content-security-policy"] or "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("given", [None, "", "Bearer ", "Bearer wrong-key-entirely", KEY.upper(), "Basic " + KEY])
def test_without_the_key_nobody_enters(models, given):
    with client_of(models, key=KEY) as client:
        headers = {} if given is None else {"Authorization": given}
        for path in ("/v1/model", "/metrics", "/openapi.json", "/v1/items"):
            response = client.get(path, headers=headers)
            assert response.status_code == 401
            assert KEY not in response.text
            error_of(response)
        assert client.get("/livez", headers=headers).status_code == 200
        assert client.get("/v1/model", headers={"Authorization": f"Bearer {KEY}"}).status_code == 200


def test_a_full_queue_and_a_missed_deadline_are_503(models, ids):
    with client_of(models, deadline_ms=0.001) as client:
        response = client.post("/v1/recommend", json={"basket": [ids[0]]})
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"
        assert error_of(response)["code"] == "late"


def test_a_bug_is_500_without_its_story(models, ids, monkeypatch):
    def broken(self, requests):
        raise ZeroDivisionError("the secret story")

    monkeypatch.setattr(Recommender, "attempt_many", broken)
    with client_of(models) as client:
        response = client.post("/v1/recommend", json={"basket": [ids[0]]})
        assert response.status_code == 500
        assert "secret" not in response.text
        error_of(response)


# Swapping -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def pointer(trained_folder, tmp_path):
    """Two sound models (one with another card), a corrupt one, and a link to the first."""
    for name in ("one", "broken"):
        shutil.copytree(trained_folder, tmp_path / name)
    weights = tmp_path / "broken" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    manifest = json.loads((tmp_path / "broken" / "manifest.json").read_text())
    (tmp_path / "broken" / "manifest.json").write_text(json.dumps(manifest))  # other bytes: it looks like a new model
    link = tmp_path / "current"
    link.symlink_to("one")
    return link


def point(link, name):
    aside = link.with_name("aside")
    aside.symlink_to(name)
    aside.replace(link)


def test_another_model_behind_the_link_takes_its_place(pointer, leak_free, tmp_path):
    from logirec.config import recipe
    from logirec.fit import train

    changes = {"model": {"dims": 8, "width": 16}, "training": {"max_steps": 20, "batch": 32}}
    train(leak_free, tmp_path / "two", recipe("default", "hybrid", 1, changes))
    models = Models(pointer)
    before = models.current
    assert not models.refresh()
    point(pointer, "two")
    assert models.refresh()
    assert models.current.sha256 != before.sha256
    assert models.current.recommender.trained.recipe.model.dims == 8
    assert not models.refresh()


def test_a_corrupt_model_is_refused_once_and_the_old_one_serves(pointer, caplog):
    models = Models(pointer)
    served = models.current
    point(pointer, "broken")
    for _ in range(3):
        assert not models.refresh()
    assert models.current is served
    refusals = [record for record in caplog.records if "refused" in record.message]
    assert len(refusals) == 1
    pointer.unlink()
    assert not models.refresh()  # nothing there: not an error either
    assert models.current is served


def test_the_service_watches_the_link(pointer, leak_free, tmp_path):
    import time

    with client_of(Models(pointer), reload_seconds=0.01) as client:
        before = client.get("/v1/model").json()["sha256"]
        card = tmp_path / "one" / "README.md"
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        (tmp_path / "two" / card.name).write_text("another card")
        from logirec.folders import MANIFEST, write_manifest
        from logirec.model.artifact import KIND, SCHEMA

        manifest = json.loads((tmp_path / "two" / MANIFEST).read_text())
        kept = {name: manifest[name] for name in ("items", "dataset_sha256")}
        (tmp_path / "two" / MANIFEST).unlink()
        write_manifest(tmp_path / "two", KIND, SCHEMA, kept)
        point(pointer, "two")
        for _ in range(500):
            if client.get("/v1/model").json()["sha256"] != before:
                break
            time.sleep(0.01)
        else:
            raise AssertionError("the new model was never served")
        assert "logirec_model_swaps_total 1.0" in client.get("/metrics").text
