"""`logirec serve`: the service on a port, its log as JSON lines."""

import contextlib
import ipaddress
import json
import logging
import os
import signal
import socket
import sys
import time
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from logirec.config import ServiceConfig
from logirec.errors import InputError, UsageError
from logirec.memory import keep_memory
from logirec.service.app import create_app
from logirec.service.models import Models

KEY = "LOGIREC_API_KEY"
SHORTEST_KEY = 16  # characters


def serve(
    model: Path,
    host: str,
    port: int,
    config: ServiceConfig,
    key_file: Path | None = None,
    approximate: bool = False,
) -> None:
    key = _key(key_file)
    if key is None and not _is_loopback(host):
        raise UsageError(
            f"--host {host} can be reached from other machines: set {KEY} or --api-key-file, or stay on 127.0.0.1"
        )
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # says: look for another model; before there is one, nothing
    keep_memory()
    app = create_app(Models(model, approximate), config, key)
    listening = listen(host, port)
    _log_as_lines()
    shown = f"[{host}]" if ":" in host else host
    print(f"serving {model} at http://{shown}:{listening.getsockname()[1]}", file=sys.stderr, flush=True)  # noqa: T201
    with listening, contextlib.suppress(KeyboardInterrupt):  # being stopped is how a service ends
        server(app).run([listening])


def server(app: FastAPI) -> uvicorn.Server:
    settings = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=10, lifespan="on"
    )
    return uvicorn.Server(settings)


def listen(host: str, port: int) -> socket.socket:
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UsageError(f"--host {host} --port {port}: {error.strerror}") from error
    # Connections inherit it. Else an answer's body waits until the client has acknowledged its head: 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _key(file: Path | None) -> str | None:
    try:
        key = os.environ.get(KEY) if file is None else file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: the API key cannot be read") from error
    if key is not None and (len(key) < SHORTEST_KEY or not key.isascii() or not key.isprintable()):
        raise UsageError(f"the API key needs at least {SHORTEST_KEY} plain characters")
    return key


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Lines(logging.Formatter):
    """One JSON object a line; a traceback goes inside it."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": round(time.time(), 3), "level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _log_as_lines() -> None:
    """Access on stdout, everything else on stderr."""
    for name, stream, form in (
        ("logirec.access", sys.stdout, logging.Formatter("%(message)s")),
        ("logirec.service", sys.stderr, _Lines()),
        ("uvicorn.error", sys.stderr, _Lines()),
    ):
        handler = logging.StreamHandler(stream)
        handler.setFormatter(form)
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.WARNING if name.startswith("uvicorn") else logging.INFO)
