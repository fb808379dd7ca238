"""`logirec serve` from the command line: where it may listen, and a real start and stop."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest


@pytest.mark.parametrize(
    ("arguments", "environment", "code", "words"),
    [
        (["--host", "0.0.0.0"], {}, 2, "LOGIREC_API_KEY"),  # noqa: S104
        (["--host", "192.0.2.1"], {"LOGIREC_API_KEY": "long-enough-for-a-key"}, 2, "192.0.2.1"),
        ([], {"LOGIREC_API_KEY": "short"}, 2, "at least 16"),
        (["--api-key-file", "nowhere.txt"], {}, 3, "cannot be read"),
        (["--max-basket", "51"], {}, 2, "max_basket"),
        (["--port", "70000"], {}, 2, "port"),
        (["--max-batch", "300", "--queue", "299"], {}, 2, "max_batch 300 is more than queue 299"),
        (["--approximate"], {}, 2, "--ann"),
    ],
)
def test_what_is_refused(cli, trained_folder, monkeypatch, arguments, environment, code, words):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    result = cli("serve", trained_folder, *arguments)
    assert result.code == code
    assert words in result.err
    assert result.out == ""


def test_a_port_that_is_taken(cli, trained_folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = cli("serve", trained_folder, "--port", taken.getsockname()[1])
    assert result.code == 2
    assert "in use" in result.err


def test_no_model(cli, tmp_path):
    assert cli("serve", tmp_path).code == 4


def test_a_hangup_before_there_is_a_model_is_passed_over(trained_folder):
    ask = "import os, signal; os.kill(os.getpid(), signal.SIGHUP)"
    code = f"""
from pathlib import Path
from logirec.config import ServiceConfig
from logirec.service import server
def loading(*given):
    {ask}
    raise SystemExit(7)
server.Models = loading
server.serve(Path({str(trained_folder)!r}), "127.0.0.1", 0, ServiceConfig())
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7


def test_it_starts_answers_reloads_and_stops(trained_folder):
    command = [sys.executable, "-m", "logirec", "serve", str(trained_folder), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    assert server.stderr is not None
    address = server.stderr.readline().split()[-1]
    assert address.startswith("http://127.0.0.1:")
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=20) as reply:  # noqa: S310
            assert json.load(reply) == {"status": "ready"}
        server.send_signal(signal.SIGHUP)  # looks for another model; there is none, and it goes on
        with urllib.request.urlopen(f"{address}/v1/model", timeout=20) as reply:  # noqa: S310
            assert json.load(reply)["items"] > 0
    finally:
        server.send_signal(signal.SIGTERM)
        out, _ = server.communicate(timeout=30)
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["path"] for line in lines] == ["/readyz", "/v1/model"]
    assert server.returncode == 0
