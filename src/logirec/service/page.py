"""The page at /: plain files from the folder web/, read once. They hold no data, so they need no key."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

INDEX = "index.html"
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class _File(NamedTuple):
    content: bytes
    kind: str
    etag: str


@cache
def _files() -> dict[str, _File]:
    """By name; what is not listed here cannot be asked for, whatever the path says."""
    found = {}
    for entry in files("logirec.service").joinpath("web").iterdir():
        kind = KINDS.get(entry.name.rpartition(".")[2])
        if kind is not None:
            content = entry.read_bytes()
            etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
            found[entry.name] = _File(content, f"{kind}; charset=utf-8", etag)
    return found


def page_paths() -> frozenset[str]:
    """Where the page's files are."""
    return frozenset({"/", *(f"/web/{name}" for name in _files() if name != INDEX)})


def add_page(app: FastAPI) -> None:
    async def index(request: Request) -> Response:
        return _answer(request, INDEX)

    async def part(request: Request) -> Response:
        name = request.path_params["name"]
        if name == INDEX:  # it has one address
            raise HTTPException(404)
        return _answer(request, name)

    for path, answer in (("/", index), ("/web/{name}", part)):
        app.add_api_route(path, answer, methods=["GET", "HEAD"], include_in_schema=False)


def _answer(request: Request, name: str) -> Response:
    file = _files().get(name)
    if file is None:
        raise HTTPException(404)
    # Kept, but asked about every time: a new version must never meet an old one's scripts.
    headers = {"etag": file.etag, "cache-control": "no-cache"}
    if file.etag in request.headers.get("if-none-match", ""):
        return Response(None, 304, headers)
    return Response(file.content, 200, headers, file.kind)
