"""What the OpenAPI document says beyond the types: statuses, examples, the bodies that we read ourselves."""

from typing import Any

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from logirec.service.messages import Ask, AskMany, ErrorReply

Responses = dict[int | str, dict[str, Any]]
_REFERENCE = "#/components/schemas/{model}"


def _error(description: str, code: str, message: str, at: int | None = None) -> dict[str, Any]:
    example = {"error": {"code": code, "message": message, "at": at, "request_id": "5f0c2a9be41d7c36"}}
    return {"model": ErrorReply, "description": description, "content": {"application/json": {"example": example}}}


_RETRY = {"Retry-After": {"description": "Seconds until it is worth trying again.", "schema": {"type": "integer"}}}
_KEY = _error("No key, or a wrong one", "key", "an API key is needed: Authorization: Bearer KEY")
_LARGE = _error("A body that is too large", "too_large", "a body has at most 65536 bytes")
_WRONG = _error("Something that cannot be answered", "query", "complement(...), substitute(...), ~ or ( should be", 0)
_BUSY = {**_error("Too much to do", "busy", "too many requests are waiting; try again in a second"), "headers": _RETRY}
_ABSENT = _error("Not in the catalogue", "http", "nothing here")
_STOPPING = {**_error("Starting or stopping", "http", "this cannot be answered"), "headers": _RETRY}

_ITEM = {"item_id": "P000123", "title": "Steel camping mug", "brand": "Norvik", "category": "Camping"}
_REASON = {"item_id": "P000456", "title": "Gas stove", "share": 1.0, "change": 0.4, "attention": 1.0}
_RECOMMENDATION = {
    **_ITEM,
    "rank": 1,
    "score": -3.2,
    "confidence": 0.21,
    "uncertainty": 0.08,
    "because": {
        "contributions": [{**_REASON, "bought_together": False}],
        "negations": [{"query": "~substitute(P000457)", "change": 0.1}],
        "model": 2.3,
        "evidence": 1.6,
    },
}
ANSWER = {
    "query": "complement(P000456) & ~substitute(P000457)",
    "recommendations": [_RECOMMENDATION],
    "unknown": ["P999999"],
    "removed": [{"item_id": "P000458", "title": "Spirit stove", "by": "~substitute(P000457)", "known": True}],
    "low_evidence": False,
}
ANSWERS = {"answers": [ANSWER, _WRONG["content"]["application/json"]["example"]]}
ITEM, ITEMS = _ITEM, {"items": [_ITEM]}
DIRECTION = {
    "first": "P000456",
    "second": "P000123",
    "forward": -3.2,
    "backward": -7.9,
    "forward_confidence": 0.21,
    "backward_confidence": 0.01,
}
MODEL = {
    "sha256": "0" * 64,
    "version": "0.1.0",
    "items": 2000,
    "categories": ["Camping"],
    "dataset": "demo",
    "trained": "2026-01-01T00:00:00Z",
    "preset": "default",
    "variant": "hybrid",
    "told": "train",
    "served_since": 1767225600.0,
    "metrics": {"low": {"filtered": {"mrr": 0.44, "queries": 1000}}},
    "limits": {"max_basket": 50, "max_top_k": 100},
}


def _good(example: Any) -> dict[str, Any]:
    return {"description": "Answered", "content": {"application/json": {"example": example}}}


def answered(example: Any) -> Responses:
    """Whatever asks the model."""
    return {200: _good(example), 401: _KEY, 413: _LARGE, 422: _WRONG, 503: _BUSY}


def looked_up(example: Any) -> Responses:
    return {200: _good(example), 401: _KEY, 404: _ABSENT, 413: _LARGE, 422: _WRONG}


def told(example: Any) -> Responses:
    """What has nothing to ask for."""
    return {200: _good(example), 401: _KEY, 413: _LARGE}


TEXT: Responses = {
    200: {"description": "In Prometheus' format", "content": {"text/plain": {"schema": {"type": "string"}}}},
    401: _KEY,
    413: _LARGE,
}


def health(status: str) -> Responses:
    """Open to all; 503 outside of serving."""
    return {200: _good({"status": status}), 413: _LARGE, 503: _STOPPING}


def body(kind: type) -> dict[str, Any]:
    """The body's schema; it is read by ourselves, so that no size or depth of it can hurt."""
    schema = {"$ref": _REFERENCE.format(model=kind.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def describe(app: FastAPI, key: bool) -> None:
    """Complete the document that FastAPI makes of the paths."""
    document = app.openapi()  # kept by the app: what is added here is served
    _, definitions = models_json_schema([(Ask, "validation"), (AskMany, "validation")], ref_template=_REFERENCE)
    components = document["components"]
    components["schemas"].update(definitions["$defs"])
    if key:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        every = (operation for operations in document["paths"].values() for operation in operations.values())
        for operation in every:
            if "401" in operation["responses"]:
                operation["security"] = [{"key": []}]
