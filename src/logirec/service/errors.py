"""Errors over HTTP: one shape, in our words. Nothing of what was sent comes back, and no traceback."""

import json
import logging
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from logirec.errors import InputError, QueryError, UnknownItems
from logirec.service.batching import Busy, Late

log = logging.getLogger("logirec.service")


def error_bytes(code: str, message: str, request_id: str, at: int | None = None) -> bytes:
    error = {"code": code, "message": message, "at": at, "request_id": request_id}
    return json.dumps({"error": error}).encode()


def explained(error: Exception) -> tuple[int, str, str, int | None]:
    """Status, code, message, place in a query."""
    match error:
        case QueryError():
            return 422, "query", error.why, error.at
        case UnknownItems():
            return 422, "unknown_items", "what this asks about is not in the catalogue", None
        case ValidationError() | RequestValidationError():
            return 422, "invalid", "; ".join(map(_wrong, list(error.errors())[:5])), None
        case InputError():
            return 422, "invalid", str(error), None
        case Busy():
            return 503, "busy", "too many requests are waiting; try again in a second", None
        case Late():
            return 503, "late", "no answer in time; try again in a second", None
        case HTTPException():
            words = {404: "nothing here", 405: "this method is not for this path"}
            return error.status_code, "http", words.get(error.status_code, "this cannot be answered"), None
    return 500, "bug", "this is a bug in logirec; the log has more", None


def _wrong(error: Any) -> str:
    """Where and why; the name of an unknown field is the sender's and stays with him."""
    unknown = error["type"] == "extra_forbidden"
    path = error["loc"][:-1] if unknown else error["loc"]
    return f"{'.'.join(map(str, path)) or 'body'}: {'a field that is not known' if unknown else error['msg']}"


def reply(request: Request, error: Exception) -> Response:
    status, code, message, at = explained(error)
    headers = {"retry-after": "1"} if status == 503 else dict(getattr(error, "headers", None) or {})
    body = error_bytes(code, message, request.state.request_id, at)
    return Response(body, status, headers, "application/json")
