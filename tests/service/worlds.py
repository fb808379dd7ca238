"""The service to be asked: in this process, or over a real port."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from starlette.testclient import TestClient

from logirec.config import ServiceConfig
from logirec.service.app import create_app
from logirec.service.models import Models
from logirec.service.server import listen, server

KEY = "a-key-of-some-length"


def client_of(models: Models, key: str | None = None, **limits: Any) -> TestClient:
    return TestClient(create_app(models, ServiceConfig(**limits), key), raise_server_exceptions=False)


@contextlib.contextmanager
def serving(models: Models, **limits: Any) -> Iterator[tuple[str, int]]:
    """Host and port of a real server, in a thread."""
    running = server(create_app(models, ServiceConfig(**limits)))
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=running.run, args=([listening],))
        thread.start()
        try:
            until(lambda: running.started)
            yield listening.getsockname()
        finally:
            running.should_exit = True
            thread.join()


def ask(address: tuple[str, int], method: str, path: str, body: Any = None, **headers: str) -> "Reply":
    """One request as it stands: no client that tidies its path or body."""
    connection = http.client.HTTPConnection(*address, timeout=60)
    with contextlib.closing(connection):
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        return Reply(connection.getresponse())


class Reply:
    """In the words of the test client, so that both are looked at in one way."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status_code, self.headers, self.text = response.status, response.headers, response.read().decode()

    def json(self) -> Any:
        return json.loads(self.text)


def error_of(response: Any) -> Any:
    """The one shape of errors, and nothing of a traceback in it."""
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message", "at", "request_id"}
    assert body["error"]["request_id"] == response.headers["x-request-id"]
    assert "Traceback" not in response.text
    return body["error"]


def until(true: Callable[[], Any]) -> None:
    """Wait for what must come; the test's own timeout ends it if it does not."""
    while not true():
        time.sleep(0.005)
