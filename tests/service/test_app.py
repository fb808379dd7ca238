"""The service as a client meets it: answers, items, the key, logs and counts."""

import json
import logging

import pytest

from logirec.recommender.recommender import Recommender
from tests.service.worlds import KEY, client_of, error_of


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
    asked.append({"query": f"~complement({ids[0]})"})  # can be read, and not be asked
    found = client.post("/v1/recommend/batch", json={"requests": asked}).json()["answers"]
    assert len(found[0]["recommendations"]) == 2
    assert found[1]["error"]["code"] == "unknown_items"
    assert found[2]["error"]["code"] == "query"
    assert len(found[3]["recommendations"]) == 10
    assert found[4]["error"]["code"] == "query"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"basket": ["x"], "top_k": 0}, "top_k"),
        ({"basket": [""]}, "basket.0"),
        ({"strange": 1}, "body: a field"),
        (7, "body"),
        ({"categories": []}, "categories"),
    ],
)
def test_one_of_a_wrong_form_does_not_take_the_others_with_it(client, ids, wrong, words):
    reply = client.post("/v1/recommend/batch", json={"requests": [wrong, {"basket": [ids[0]]}]})
    assert reply.status_code == 200
    first, second = reply.json()["answers"]
    assert first["error"]["code"] == "invalid"
    assert first["error"]["message"].startswith(words)
    assert len(second["recommendations"]) == 10


def test_a_batch_call_asks_for_so_much_and_no_more(client, ids):
    many = " & ".join(f"~substitute({other})" for other in ids[1:40])
    asked = [{"query": f"complement({ids[0]}) & {many}"}]
    assert client.post("/v1/recommend/batch", json={"requests": asked * 6}).status_code == 200
    reply = client.post("/v1/recommend/batch", json={"requests": asked * 7})
    assert "parts" in error_of(reply)["message"]


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
    error = error_of(client.get("/v1/direction", params={"first": ids[0], "second": "nothing"}))
    assert error["code"] == "unknown_items"
    assert "none" not in error["message"]  # the first is there
    about = client.get("/v1/model").json()
    assert about["items"] == len(ids)
    assert about["metrics"]["low"]["filtered"]["mrr"] >= 0
    assert about["told"] == "train"
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


def test_who_was_not_let_in_is_noted_with_the_path(models, caplog):
    with client_of(models, key=KEY) as client, caplog.at_level(logging.INFO, "logirec.access"):
        for path in ("/v1/model", "/no/such/path"):
            assert client.get(path).status_code == 401
    noted = [json.loads(record.message)["path"] for record in caplog.records if record.name == "logirec.access"]
    assert noted == ["/v1/model", "other"]


def test_security_headers_are_on_every_answer(client):
    for path in ("/livez", "/nothing", "/v1/model"):
        headers = client.get(path).headers
        assert "script" not in headers["content-security-policy"] or "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("given", [None, "", "Bearer ", "Bearer wrong-key-entirely", KEY, KEY.upper(), "Basic " + KEY])
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


def test_a_bug_is_500_without_its_story(models, ids, monkeypatch):
    def broken(self, requests):
        raise ZeroDivisionError("the secret story")

    monkeypatch.setattr(Recommender, "attempt_many", broken)
    with client_of(models) as client:
        response = client.post("/v1/recommend", json={"basket": [ids[0]]})
        assert response.status_code == 500
        assert "secret" not in response.text
        error_of(response)
