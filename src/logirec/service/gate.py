"""What every request passes: a number, a key, a limit on its size, a line in the log, a count.

Plain ASGI, so that a request costs microseconds here and a large body is never held.
"""

import hmac
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from logirec.service.errors import error_bytes
from logirec.service.page import page_paths

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = {"/livez", "/readyz"} | page_paths()  # asked by machines that hold no key; the page, which asks for one
# One policy for all answers: nothing from elsewhere, nothing inline, in nobody's frame.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", POLICY.encode()),
]
access, log = logging.getLogger("logirec.access"), logging.getLogger("logirec.service")


class Meters:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("logirec_requests_total", "Requests", ["path", "status"], registry=self.registry)
        self.seconds = Histogram(
            "logirec_request_seconds",
            "Time to answer",
            ["path"],
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2),
            registry=self.registry,
        )
        self.batch = Histogram(
            "logirec_batch_size", "Requests per batch", buckets=(1, 2, 4, 8, 16, 32, 64), registry=self.registry
        )
        self.waiting = Gauge("logirec_requests_waiting", "Requests whose turn has not come", registry=self.registry)
        self.swaps = Counter("logirec_model_swaps_total", "Models that took another's place", registry=self.registry)
        self.loaded = Gauge("logirec_model_served_since_seconds", "When the model was loaded", registry=self.registry)


class Gate:
    def __init__(self, app: App, max_body: int, key: str | None, meters: Meters, paths: set[str]) -> None:
        self.app, self.max_body, self.meters, self.paths = app, max_body, meters, paths
        self.key = None if key is None else f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0
        headers = dict(scope["headers"])

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = [(b"x-request-id", request_id.encode()), *HEADERS]
                message = {**message, "headers": [*message.get("headers", []), *own]}
            await send(message)

        try:
            if self.key is not None and scope["path"] not in OPEN and not self._may_enter(headers):
                await _refuse(answer, 401, "key", "an API key is needed: Authorization: Bearer KEY", request_id)
            elif self._says_too_large(headers.get(b"content-length", b"")):
                await _refuse(answer, 413, "too_large", f"a body has at most {self.max_body} bytes", request_id)
            else:
                body = await self._body(receive) if scope["method"] not in ("GET", "HEAD") else b""
                if body is None:
                    await _refuse(answer, 413, "too_large", f"a body has at most {self.max_body} bytes", request_id)
                else:
                    await self.app(scope, _given(body, receive), answer)
        except Exception as error:
            log.error("request %s failed", request_id, exc_info=error)
            if status:  # it has begun to answer: nothing better can be said any more
                raise
            await _refuse(answer, 500, "bug", "this is a bug in logirec; the log has more", request_id)
        finally:
            self._note(scope, request_id, status, time.perf_counter() - started)

    def _may_enter(self, headers: dict[bytes, bytes]) -> bool:
        return hmac.compare_digest(headers.get(b"authorization", b""), self.key or b"")

    def _says_too_large(self, length: bytes) -> bool:
        """Only digits count, and not thousands of them, which int() would not read; the body is measured anyway."""
        return length.isdigit() and (len(length) > 18 or int(length) > self.max_body)

    async def _body(self, receive: Receive) -> bytes | None:
        """All of it, or None where it is longer than allowed, whatever its header said."""
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self.max_body:
                return None
            if message["type"] == "http.disconnect" or not message.get("more_body", False):
                return bytes(body)

    def _note(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", scope["path"])  # none where it was not let in
        path = route if route in self.paths else "other"  # the paths of strangers are no labels
        self.meters.requests.labels(path, str(status)).inc()
        self.meters.seconds.labels(path).observe(seconds)
        line = {
            "time": round(time.time(), 3),
            "request_id": request_id,
            "method": scope["method"],
            "path": path,
            "status": status,
            "ms": round(1000 * seconds, 2),
        }
        access.info(json.dumps(line))


def _given(body: bytes, receive: Receive) -> Receive:
    """The body once, then whatever the connection says."""
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _refuse(send: Send, status: int, code: str, message: str, request_id: str) -> None:
    body = error_bytes(code, message, request_id)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
