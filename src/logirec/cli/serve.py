"""`logirec serve`: recommendations over HTTP."""

from collections.abc import Callable
from pathlib import Path

import typer
from pydantic import ValidationError

from logirec.cli import options
from logirec.config import ServiceConfig, settings_error
from logirec.errors import UsageError


def command(
    model: Path = typer.Argument(..., help="A folder that `logirec train` wrote, or a link to one."),
    host: str = typer.Option("127.0.0.1", "--host", help="Address to listen on; others than loopback need an API key."),
    port: int = typer.Option(8000, "--port", min=0, max=65535, help="0: any free one."),
    key_file: Path | None = typer.Option(
        None, "--api-key-file", help="File with the key that requests must bring. Or set LOGIREC_API_KEY."
    ),
    approximate: bool = typer.Option(False, "--approximate", help="By the approximate index (train --ann)."),
    max_body: int = options.setting(ServiceConfig, "max_body"),
    max_basket: int = options.setting(ServiceConfig, "max_basket"),
    max_top_k: int = options.setting(ServiceConfig, "max_top_k"),
    max_batch: int = options.setting(ServiceConfig, "max_batch"),
    queue: int = options.setting(ServiceConfig, "queue"),
    gather: int = options.setting(ServiceConfig, "gather"),
    gather_ms: float = options.setting(ServiceConfig, "gather_ms"),
    deadline_ms: float = options.setting(ServiceConfig, "deadline_ms"),
    reload_seconds: float = options.setting(ServiceConfig, "reload_seconds"),
) -> None:
    """Serve a model over HTTP. SIGHUP, or another model behind the link, takes its place with no dropped request."""
    try:
        config = ServiceConfig(
            max_body=max_body,
            max_basket=max_basket,
            max_top_k=max_top_k,
            max_batch=max_batch,
            queue=queue,
            gather=gather,
            gather_ms=gather_ms,
            deadline_ms=deadline_ms,
            reload_seconds=reload_seconds,
        )
    except ValidationError as error:
        raise settings_error(error) from error
    load_server()(model, host, port, config, key_file, approximate)


def load_server() -> Callable[..., None]:
    try:
        from logirec.service.server import serve
    except ImportError as error:
        raise UsageError("serve needs the extra: pip install 'logirec[serve]'") from error
    return serve
