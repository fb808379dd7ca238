"""Bad input of every kind: a documented status, one shape of errors, in our words and never in the sender's."""

import json

import numpy as np
import pytest

from logirec.config import recipe
from logirec.model import artifact
from logirec.model.catalogue import Catalogue, KnownLinks
from logirec.model.logirec import LogiRec
from logirec.relation import Relation
from logirec.service.models import Models
from tests.service.worlds import ask, client_of, error_of, serving

SECRET = "zanzibar"  # part of what is sent, and never of an error


@pytest.fixture(scope="module")
def roomy(models):
    """A body as large as one likes: what stops it is not its size."""
    with client_of(models, max_body=2**30) as client:
        yield client


BODIES = [
    b"",
    b"nonsense zanzibar",
    b"[]",
    b"null",
    b"{}",
    b'"zanzibar"',
    b'{"basket": []}',
    b'{"basket": null}',
    b'{"basket": "A"}',
    b'{"basket": [1]}',
    b'{"basket": [""]}',
    b'{"basket": [null]}',
    b'{"basket": ["A"], "top_k": 0}',
    b'{"basket": ["A"], "top_k": -1}',
    b'{"basket": ["A"], "top_k": 1.5}',
    b'{"basket": ["A"], "top_k": NaN}',
    b'{"basket": ["A"], "top_k": Infinity}',
    b'{"basket": ["A"], "top_k": -Infinity}',
    b'{"basket": ["A"], "top_k": 1e400}',
    b'{"basket": ["A"], "top_k": "5"}',
    b'{"basket": ["A"], "top_k": true}',
    b'{"basket": ["A"], "top_k": 99999999999999999999999}',
    b'{"basket": ["A"], "top_k": ' + b"9" * 60_000 + b"}",
    b'{"basket": [NaN, Infinity, 1e400]}',
    b'{"basket": ["A"], "zanzibar": 1}',
    b'{"basket": ["A\xff"]}',
    b"\xff\xfe\x00",
    b'\xef\xbb\xbf{"basket": ["A"]}',
    b'{"basket": ["A\x00"]}',
    b'{"basket": ["\\u0000zanzibar"]}',
    b'{"basket": ["\\ud800"]}',
    b'{"basket": ["\\udc00\\ud800"]}',
    b'{"basket": ["zanzibar", "zanzibar", "zanzibar"]}',
    b'{"basket": ["' + b"zanzibar" * 100 + b'"]}',
    b'{"basket": ["A"], "exclude": ["zanzibar", 1]}',
    b'{"basket": ["A"], "categories": "zanzibar"}',
    b'{"query": 5}',
    b'{"query": ""}',
    b'{"query": {}}',
    b'{"query": {"zanzibar": []}}',
    b'{"query": {"and": NaN}}',
    b'{"query": {"and": [], "or": []}}',
    b'{"query": {"complement": [1e400]}}',
    b'{"query": {"complement": "zanzibar"}}',
    b'{"query": "complement(zanzibar"}',
    b'{"query": "complement(\\u0000)"}',
    b'{"query": "~complement(zanzibar)"}',
    b'{"query": "' + b"(" * 19_000 + b'"}',
    b'{"query": "' + b"(" * 21_000 + b'"}',
    b'{"query": ' + b'{"not": ' * 5_000 + b"1" + b"}" * 5_000 + b"}",
    b'{"query": ' + b'{"not": ' * 150 + b'{"complement": ["A"]}' + b"}" * 150 + b"}",
    b'{"basket": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_body_that_cannot_be_answered_is_422(client, body):
    response = client.post("/v1/recommend", content=body)
    assert response.status_code == 422
    assert 0 < len(error_of(response)["message"]) < 500
    assert SECRET not in response.text
    in_batch = client.post("/v1/recommend/batch", content=b'{"requests": [' + body + b"]}")
    assert in_batch.status_code in (200, 422)  # 200: with the error in its place
    if in_batch.status_code == 200:
        (answer,) = in_batch.json()["answers"]
        assert set(answer["error"]) == {"code", "message", "at", "request_id"}
    assert SECRET not in in_batch.text


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"query": ' + b'{"not":' * 100_000, b"9" * 10_000_000])
@pytest.mark.parametrize("path", ["/v1/recommend", "/v1/recommend/batch"])
def test_no_depth_or_length_hurts(client, roomy, path, body):
    assert error_of(client.post(path, content=body))["code"] == "too_large"
    assert error_of(roomy.post(path, content=body))["code"] == "invalid"


def test_of_a_key_given_twice_the_last_counts(client, ids):
    body = f'{{"basket": ["{ids[0]}"], "basket": ["{ids[1]}"], "top_k": 1}}'
    found = client.post("/v1/recommend", content=body)
    assert found.json() == client.post("/v1/recommend", json={"basket": [ids[1]], "top_k": 1}).json()


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/xml", "multipart/form-data; boundary=x", "application/json; charset=x", "\xff"]
)
def test_a_body_is_json_whatever_it_is_called(client, ids, kind):
    headers = {"content-type": kind.encode("latin-1")}
    body = json.dumps({"basket": [ids[0]], "top_k": 1})
    assert client.post("/v1/recommend", content=body, headers=headers).status_code == 200
    wrong = client.post("/v1/recommend", content="<basket>zanzibar</basket>", headers=headers)
    assert wrong.status_code == 422
    assert SECRET not in error_of(wrong)["message"]


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "ZANZIBAR", "HEAD"])
@pytest.mark.parametrize("path", ["/v1/recommend", "/v1/items", "/v1/model", "/metrics"])
def test_other_methods_are_405(client, path, method):
    right = "POST" if path == "/v1/recommend" else "GET"
    response = client.request(method, path)
    assert response.status_code == (405 if method != right else 200)
    if method not in (right, "HEAD"):  # which has no body
        error_of(response)
        assert response.headers["allow"] == right
        assert SECRET not in response.text.lower()


@pytest.mark.parametrize(
    "path", ["/v1/recommend/", "/v1/items/", "/livez/", "//livez", "/zanzibar", "/docs", "/%2e%2e"]
)
def test_other_paths_are_404(port, path):
    response = ask(port, "GET", path)
    assert response.status_code == 404
    error_of(response)
    assert "location" not in response.headers
    assert SECRET not in response.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/items/zanzibar", 404),
        ("/v1/items/%00", 404),
        ("/v1/items/%ff", 404),
        ("/v1/items/%zz", 404),
        ("/v1/items/..%2f..%2fetc%2fzanzibar", 404),
        ("/v1/items/../../zanzibar", 404),
        ("/v1/items/" + "zanzibar" * 1000, 404),
        ("/v1/items?search=" + "z" * 201, 422),
        ("/v1/items?limit=zanzibar", 422),
        ("/v1/items?limit=1e400", 422),
        ("/v1/items?limit=NaN", 422),
        ("/v1/items?limit=" + "9" * 5000, 422),
        ("/v1/items?limit=1&limit=zanzibar", 422),
        ("/v1/items?search=%ff%00_%F0%9F%98%80", 200),
        ("/v1/items?search=%22%20OR%20NEAR(zanzibar)*^", 200),
        ("/v1/items?zanzibar=1", 200),
        ("/v1/direction", 422),
        ("/v1/direction?first=zanzibar&second=%00", 422),
        ("/v1/direction?first=&second=", 422),
        ("/v1/direction?first=" + "z" * 501 + "&second=b", 422),
    ],
)
def test_strange_paths_and_parameters(port, path, status):
    response = ask(port, "GET", path)
    assert response.status_code == status
    assert SECRET not in response.text
    if status >= 400:
        error_of(response)


@pytest.fixture(scope="module")
def port(models):
    with serving(models) as port:
        yield port


# Items with strange names -------------------------------------------------------------------------------------------

STRANGE = sorted(["a/b", "..", "%2F", "a b", "?x=1#y", "\x00", '"', "\\", "~(&|)", "ü😀", "+", "'; DROP TABLE items"])


@pytest.fixture(scope="module")
def strange(tmp_path_factory):
    out = tmp_path_factory.mktemp("strange") / "model"
    made = recipe("default", "hybrid", 0, {"model": {"dims": 4, "width": 8, "evidence": False}})
    count = len(STRANGE)
    artifact.save(
        out,
        artifact.Parts(
            weights=dict(LogiRec(count, made.model, 0).state_dict()),
            recipe=made,
            catalogue=Catalogue(STRANGE, STRANGE, [None] * count, STRANGE),
            links={r: KnownLinks(np.arange(count + 1), np.roll(np.arange(count, dtype=np.int32), 1)) for r in Relation},
            calibration={},
            metrics={},
            card="strange\n",
            dataset_sha256="0" * 64,
        ),
    )
    with serving(Models(out)) as port:
        yield port


@pytest.mark.parametrize("item_id", STRANGE, ids=range(len(STRANGE)))
def test_an_item_of_any_name_is_found(strange, item_id):
    quoted = "".join(f"%{byte:02x}" for byte in item_id.encode())
    assert ask(strange, "GET", f"/v1/items/{quoted}").json()["item_id"] == item_id
    body = {"basket": [item_id], "categories": [one for one in STRANGE if one != item_id], "top_k": len(STRANGE)}
    answer = ask(strange, "POST", "/v1/recommend", json.dumps(body)).json()
    assert answer["recommendations"]
    by_query = ask(
        strange, "POST", "/v1/recommend", json.dumps({**body, "basket": [], "query": answer["query"]})
    ).json()
    assert by_query["recommendations"] == answer["recommendations"]
    other = STRANGE[STRANGE.index(item_id) - 1]
    quoted_other = "".join(f"%{byte:02x}" for byte in other.encode())
    pair = ask(strange, "GET", f"/v1/direction?first={quoted}&second={quoted_other}").json()
    assert (pair["first"], pair["second"]) == (item_id, other)
