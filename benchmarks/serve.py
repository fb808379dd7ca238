"""The service under load: a catalogue of random items, wrk on the same machine, models swapped meanwhile.

    .venv/bin/python benchmarks/serve.py --items 100000 --dims 400 --seconds 180 --swaps 20

Needs `wrk`. Prints requests a second, latency, failed requests (not 2xx, or a broken connection), memory against the
weights, and one request alone. The swaps are spread over the load, every third told by SIGHUP; before the last one a
corrupt model is put in their place and must be refused.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from logirec.config import recipe
from logirec.model import artifact
from logirec.model.artifact import Parts
from logirec.model.catalogue import Catalogue, KnownLinks
from logirec.model.evidence import Evidence
from logirec.model.logirec import LogiRec
from logirec.relation import Relation

EVIDENCE = 200  # items that each item has evidence for: what training keeps is of this order
# Baskets of 1 to 3 items that differ from request to request.
SCRIPT = """
math.randomseed(7)
local function item() return string.format('"P%%07d"', math.random(0, %d)) end
request = function()
  local items = {}
  for i = 1, math.random(1, 3) do items[i] = item() end
  local body = '{"basket": [' .. table.concat(items, ",") .. '], "top_k": 10, "explain": %s}'
  return wrk.format("POST", "/v1/recommend", {["Content-Type"] = "application/json"}, body)
end
"""


def _random_evidence(items: int, draws: torch.Generator) -> Evidence:
    """Each item's targets are different ones, in ascending order; most of it next to nothing, as in trained models."""
    count = min(EVIDENCE, items // 2)
    gaps = torch.randint(1, items // count, (items, count), generator=draws)
    targets = gaps.cumsum(1).sub_(1).to(torch.int32).flatten()
    amounts = 5 * torch.rand(2, items * count, generator=draws) ** 4
    return Evidence(torch.arange(0, items * count + 1, count), targets, amounts)


def make_model(out: Path, items: int, dims: int, seed: int) -> int:
    """A folder as training writes it, with random weights; returns the bytes of the weights."""
    made = recipe("default", "hybrid", seed, {"model": {"dims": dims}})
    model = LogiRec(items, made.model, seed)
    draws = torch.Generator().manual_seed(seed)
    targets = torch.randint(items, (items, 10), generator=draws, dtype=torch.int32).sort(1).values.flatten()
    evidence = _random_evidence(items, draws)
    ids = [f"P{row:07d}" for row in range(items)]
    curve = {"temperature": 1.0, "knows": True, "log_probability": [-20.0, 0.0], "confidence": [0.0, 1.0]}
    artifact.save(
        out,
        Parts(
            weights=dict(model.state_dict()),
            recipe=made,
            catalogue=Catalogue(ids, [f"Product {i}" for i in ids], [None] * items, [None] * items),
            links={r: KnownLinks(np.arange(0, 10 * items + 1, 10), targets.numpy().copy()) for r in Relation},
            calibration={"low": curve, "high": curve},
            metrics={"test": {}},
            card="random\n",
            dataset_sha256="0" * 64,
            evidence=evidence.tensors(),
        ),
    )
    return (out / "weights.safetensors").stat().st_size


def wrk(address: str, script: Path, connections: int, seconds: int) -> dict[str, Any]:
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds}s",
        "--timeout",
        "10s",
        "--latency",
        "-s",
        str(script),
        address,
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    latency = {p: _ms(value) for p, value in re.findall(r"(50|75|90|99)%\s+([\d.]+\w+)", text)}
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    broken = re.search(r"Socket errors: (.*)", text)  # connect 0, read 0, write 0, timeout 0; absent when all are 0
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    sent = re.search(r"(\d+) requests in", text)
    assert rate is not None, text
    assert sent is not None, text
    return {
        "requests": int(sent[1]),
        "requests_per_second": float(rate[1]),
        "p50_ms": latency["50"],
        "p99_ms": latency["99"],
        "failed": (int(refused[1]) if refused else 0) + sum(map(int, re.findall(r"\d+", broken[1] if broken else ""))),
    }


def _ms(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--dims", type=int, default=400)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--swaps", type=int, default=0)
    parser.add_argument("--explain", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({**vars(arguments), **measure(Path(folder), arguments)}, indent=1))


def measure(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    weights = make_model(folder / "model-0", arguments.items, arguments.dims, 0)
    link = folder / "current"
    link.symlink_to("model-0")
    script = folder / "baskets.lua"
    script.write_text(SCRIPT % (arguments.items - 1, "true" if arguments.explain else "false"))
    command = [sys.executable, "-m", "logirec", "serve", str(link), "--port", "0", "--deadline-ms", "10000"]
    with (folder / "access.log").open("w") as log, (folder / "errors.log").open("w+") as errors:
        server = subprocess.Popen(command, stdout=log, stderr=errors, text=True)
        try:
            address = _address(folder / "errors.log", server)
            wrk(address, script, arguments.connections, 3)  # warm
            report: dict[str, Any] = {"alone": wrk(address, script, 1, min(10, arguments.seconds))}
            report["memory_mb"] = _memory(server.pid)
            report["memory_over_weights"] = report["memory_mb"] * 2**20 / weights
            with ThreadPoolExecutor(1) as pool:
                if arguments.swaps:
                    make_model(folder / "model-1", arguments.items, arguments.dims, 1)
                    make_corrupt(folder / "model-1", folder / "corrupt")
                    swapping = pool.submit(swap, Swaps(folder, link, address, server.pid), arguments)
                report["loaded"] = wrk(address, script, arguments.connections, arguments.seconds)
                if arguments.swaps:
                    report["swapping_seconds"], report["swapped_under_load"] = swapping.result()
            if arguments.swaps:
                report["refused"] = (folder / "errors.log").read_text().count("refused")
            report["peak_memory_mb"] = _memory(server.pid, "VmHWM")
        finally:
            server.terminate()
            server.wait(30)
    return report


def make_corrupt(sound: Path, out: Path) -> None:
    """The same model with its last byte gone, and a manifest of other bytes: it looks like a new one."""
    shutil.copytree(sound, out)
    with (out / "weights.safetensors").open("r+b") as weights:
        weights.truncate(weights.seek(0, 2) - 1)
    manifest = out / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text())))


class Swaps(NamedTuple):
    folder: Path
    link: Path
    address: str
    pid: int

    def to(self, name: str, hangup: bool) -> None:
        aside = self.folder / "aside"
        aside.symlink_to(name)
        aside.replace(self.link)
        if hangup:
            os.kill(self.pid, signal.SIGHUP)

    def until(self, true: Callable[[], bool]) -> None:
        for _ in range(1200):
            if true():
                return
            time.sleep(0.05)
        raise SystemExit("a model was not looked at within a minute")


def swap(swaps: Swaps, arguments: argparse.Namespace) -> tuple[float, int]:
    """Seconds until all were done, and how many were done while the load lasted."""
    began = time.perf_counter()
    under_load = 0
    pause = arguments.seconds / (arguments.swaps + 2)  # spread over the load, with room for the loading itself
    errors = swaps.folder / "errors.log"
    for number in range(1, arguments.swaps + 1):
        due = began + number * pause
        if number == arguments.swaps:
            swaps.to("corrupt", hangup=True)
            swaps.until(lambda: "refused" in errors.read_text())
        time.sleep(max(0, due - time.perf_counter()))
        before = _served(swaps.address)
        swaps.to(f"model-{number % 2}", hangup=number % 3 == 0)
        swaps.until(lambda: _served(swaps.address) != before)  # noqa: B023
        under_load += time.perf_counter() - began < arguments.seconds
    return round(time.perf_counter() - began, 1), under_load


def _address(log: Path, server: subprocess.Popen[str]) -> str:
    while not (found := re.search(r"at (http://\S+)\n", log.read_text())):
        assert server.poll() is None, log.read_text()
        time.sleep(0.1)
    return found[1]


def _served(address: str) -> str:
    with urllib.request.urlopen(f"{address}/v1/model") as reply:  # noqa: S310
        return str(json.load(reply)["sha256"])


def _memory(pid: int, name: str = "VmRSS") -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]


if __name__ == "__main__":
    main()
