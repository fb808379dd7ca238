"""Every limit at one less, itself and one more; what is refused is refused at once and in our words."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from logirec.recommender.recommender import Recommender
from tests.service.worlds import ask, client_of, error_of, serving, until

LIMITS = [{}, {"max_basket": 5, "max_top_k": 7, "max_batch": 3, "max_body": 400, "queue": 4}]  # as they come, and set


@pytest.fixture(scope="module", params=LIMITS, ids=["default", "set"])
def limited(request, models):
    """A client, and the limits it has."""
    with client_of(models, **request.param) as client:
        yield client, client.get("/v1/model").json()["limits"]


def test_the_limits_are_these(models):
    with client_of(models) as client:
        limits = client.get("/v1/model").json()["limits"]
    shown = {name: limits[name] for name in ("max_body", "max_basket", "max_top_k", "max_batch", "queue")}
    assert shown == {"max_body": 65_536, "max_basket": 50, "max_top_k": 100, "max_batch": 32, "queue": 256}


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_basket_top_k_and_batch(limited, ids, more):
    client, limits = limited
    status = 422 if more > 0 else 200

    def asked(path, **body):
        response = client.post(path, json=body)
        assert response.status_code == status
        return response.json() if status == 200 else error_of(response)

    items = ids[: limits["max_basket"] + more]
    asked("/v1/recommend", basket=[*items, *items], top_k=1, explain=False)  # repeats do not count
    asked("/v1/recommend", query=f"complement({' & '.join(items)})", top_k=1, explain=False)
    asked("/v1/recommend", basket=items[1:], query=f"complement({items[0]})", top_k=1, explain=False)
    found = asked("/v1/recommend", basket=[ids[0]], top_k=limits["max_top_k"] + more, explain=False)
    assert status == 422 or len(found["recommendations"]) == limits["max_top_k"] + more
    one = {"basket": [ids[0]], "top_k": 1, "explain": False}
    found = asked("/v1/recommend/batch", requests=[one] * (limits["max_batch"] + more))
    assert status == 422 or len(found["answers"]) == limits["max_batch"] + more


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_body(limited, ids, more):
    client, limits = limited
    body = json.dumps({"basket": [ids[0]], "top_k": 1}).ljust(limits["max_body"] + more).encode()
    said = client.post("/v1/recommend", content=body)
    unsaid = client.post("/v1/recommend", content=(body[at : at + 100] for at in range(0, len(body), 100)))
    assert "content-length" not in unsaid.request.headers
    for response in (said, unsaid):
        assert response.status_code == (413 if more > 0 else 200)
        assert more <= 0 or error_of(response)["code"] == "too_large"


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("size", "status"), [(65_535, 200), (65_536, 200), (65_537, 413), (10_000_000, 413)])
def test_body_over_a_real_port(port, ids, size, status, chunked):
    body = json.dumps({"basket": [ids[0]], "top_k": 1}).ljust(size).encode()
    parts = (body[at : at + 10_000] for at in range(0, size, 10_000))
    response = ask(port, "POST", "/v1/recommend", parts if chunked else body)
    assert response.status_code == status
    assert status == 200 or error_of(response)["code"] == "too_large"


@pytest.fixture(scope="module")
def port(models):
    with serving(models) as port:
        yield port


@pytest.mark.parametrize("length", [b"-1", b"", b"x", b"1e3", b"9" * 5000, "²".encode()])
def test_a_length_that_is_none_does_no_harm(client, ids, length):
    body = json.dumps({"basket": [ids[0]], "top_k": 1}).encode()
    response = client.post("/v1/recommend", content=body, headers={"content-length": length})
    assert response.status_code == (413 if len(length) > 1000 else 200)


@pytest.fixture
def held(monkeypatch):
    """The worker, held in the midst of a batch until it is let go."""

    class Held:
        entered, let_go = threading.Event(), threading.Event()

    answer = Recommender.attempt_many

    def attempt_many(self, requests):
        Held.entered.set()
        assert Held.let_go.wait(120)
        return answer(self, requests)

    monkeypatch.setattr(Recommender, "attempt_many", attempt_many)
    yield Held
    Held.let_go.set()


@pytest.mark.parametrize("limits", [{}, {"queue": 4, "max_batch": 3}], ids=["default", "set"])
def test_queue(models, ids, held, limits):
    one = {"basket": [ids[0]], "top_k": 1, "explain": False}
    size, batch = limits.get("queue", 256), limits.get("max_batch", 32)

    with serving(models, **limits, gather=1, deadline_ms=600_000) as port, ThreadPoolExecutor(20) as pool:

        def single():
            return ask(port, "POST", "/v1/recommend", json.dumps(one))

        def several(count):
            return ask(port, "POST", "/v1/recommend/batch", json.dumps({"requests": [one] * count}))

        def direction():
            return ask(port, "GET", f"/v1/direction?first={ids[0]}&second={ids[1]}")

        def waiting():
            text = ask(port, "GET", "/metrics").text
            return float(re.search(r"^logirec_requests_waiting (\S+)", text, re.M)[1])

        accepted = [pool.submit(single)]
        assert held.entered.wait(60)  # it is being worked on and waits no more
        for begin in range(0, size - 1, batch):
            accepted.append(pool.submit(several, min(batch, size - 1 - begin)))
        until(lambda: waiting() == size - 1)
        refused = [several(2)]  # room for one only: neither takes it
        assert waiting() == size - 1
        accepted.append(pool.submit(direction))
        until(lambda: waiting() == size)
        refused += [single(), several(1), direction()]
        for response in refused:  # while the worker is still held: at once
            assert response.status_code == 503
            assert response.headers["retry-after"] == "1"
            assert error_of(response)["code"] == "busy"
        held.let_go.set()
        assert {future.result().status_code for future in accepted} == {200}
        assert waiting() == 0
        assert single().status_code == 200


def test_deadline(models, ids, held):
    body = {"basket": [ids[0]]}
    with client_of(models, deadline_ms=1) as client:
        for path, asked in (("/v1/recommend", body), ("/v1/recommend/batch", {"requests": [body, body]})):
            response = client.post(path, json=asked)
            assert response.status_code == 503
            assert response.headers["retry-after"] == "1"
            assert error_of(response)["code"] == "late"
        response = client.get("/v1/direction", params={"first": ids[0], "second": ids[1]})
        assert response.status_code == 503
        assert error_of(response)["code"] == "late"
        held.let_go.set()
    with client_of(models, deadline_ms=600_000) as client:
        assert client.post("/v1/recommend", json=body).status_code == 200
