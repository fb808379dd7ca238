"""The OpenAPI document: sound, with examples that are true, and kept to by every answer."""

import zlib

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from logirec.config import ServiceConfig
from logirec.service.app import create_app
from tests.service.worlds import KEY, serving

DOCUMENT = create_app(None, ServiceConfig()).openapi()  # no model is needed to describe the service
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = [
    (method, path, operation) for path, methods in DOCUMENT["paths"].items() for method, operation in methods.items()
]


@pytest.fixture(scope="module")
def address(models):
    with serving(models) as (host, port):
        yield f"http://{host}:{port}"


def checked(case, address):
    """Status, headers and body are as documented; wrong data is refused; no 5xx; one shape of errors."""
    response = case.call(base_url=address)
    passed_over = [positive_data_acceptance]  # an item that is not in the catalogue is a 422 that no schema knows of
    if response.status_code == 413:
        passed_over.append(negative_data_rejection)  # refused it is, but this check does not count 413
    case.validate_response(response, excluded_checks=passed_over)
    if response.status_code >= 400:
        assert set(response.json()["error"]) == {"code", "message", "at", "request_id"}
    return response.status_code


@SCHEMA.parametrize()
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_whatever_is_sent_the_answer_is_as_documented(address, case):
    checked(case, address)


@SCHEMA.include(path_regex="recommend|direction|items/").parametrize()
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_answers_about_real_items_are_as_documented(address, ids, case):
    """The same with strings that stand for items made into items: four in ten are answered with 200."""
    case.body = with_items(case.body, ids)
    for given in (case.query, case.path_parameters):
        for name in {"first", "second", "item_id"} & set(given or {}):
            given[name] = item(given[name], ids)
    checked(case, address)


def item(text, ids):
    return ids[zlib.crc32(str(text).encode(errors="replace")) % len(ids)]


def with_items(body, ids):
    if isinstance(body, list):
        return [with_items(part, ids) for part in body]
    if not isinstance(body, dict):
        return body
    found = {name: with_items(part, ids) for name, part in body.items()}
    if isinstance(found.get("basket"), list):
        found["basket"] = [item(one, ids) if isinstance(one, str) else one for one in found["basket"]]
    return found


# The document itself -------------------------------------------------------------------------------------------------


def test_it_is_valid_openapi():
    SCHEMA.validate()
    assert DOCUMENT["openapi"].startswith("3.1")


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=[path for _, path, _ in OPERATIONS])
def test_every_operation_has_examples_that_are_true(method, path, operation):
    contents = [response["content"] for response in operation["responses"].values() if "content" in response]
    for content in contents:
        for kind, said in content.items():
            if kind == "application/json":
                validator(said["schema"]).validate(said["example"])
    if method == "post":
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        examples = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["examples"]
        assert examples
        for example in examples:
            validator(schema).validate(example)


def validator(schema):
    return jsonschema_rs.Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def test_the_key_is_documented_where_there_is_one():
    document = create_app(None, ServiceConfig(), KEY).openapi()
    assert "securitySchemes" not in DOCUMENT["components"]
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    asking = {path: any("security" in one for one in methods.values()) for path, methods in document["paths"].items()}
    assert {path for path, needed in asking.items() if not needed} == {"/livez", "/readyz"}
