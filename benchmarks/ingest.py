"""Demo-shop JSON lines to a dataset at several sizes: time, peak memory, cost per million links.

    .venv/bin/python benchmarks/ingest.py --links 2 5 10

Each size runs `logirec prepare` in a process of its own; its peak resident memory is what the kernel counted for it.
Making the input is not timed. Ratios are printed against the first size, because times vary from machine to machine.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from logirec.data.demo_shop import DemoShop

LINKS_PER_ITEM = 7.28  # of the demo shop, measured; the true number of each run is printed


def measure(million: float, folder: Path, options: list[str]) -> dict[str, float]:
    shop = DemoShop(int(million * 1e6 / LINKS_PER_ITEM), seed=1)
    source = folder / "products.jsonl"
    links = shop.write_products(source)
    command = [
        sys.executable,
        "-m",
        "logirec",
        "prepare",
        str(source),
        "--out",
        str(folder / "out"),
        "--json",
        *options,
    ]
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout is not None
    report = json.loads(child.stdout.read())
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, "prepare failed"
    return {
        "links": links,
        "items": report["items"],
        "input_mb": source.stat().st_size / 1e6,
        "seconds": seconds,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--links", type=float, nargs="+", default=[2, 5, 10], help="millions")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("options", nargs="*", help="passed on to prepare, after --")
    arguments = parser.parse_args()
    rows = []
    for million in arguments.links:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(million, Path(folder), arguments.options))
            print(f"{million:g} million: {rows[-1]}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(rows))
        return
    print("| links | items | input MB | seconds | s per million | peak MB | peak, ratio | s per million, ratio |")
    print("|---|---|---|---|---|---|---|---|")
    first = rows[0]
    for row in rows:
        cost = 1e6 * row["seconds"] / row["links"]
        ratio = cost / (1e6 * first["seconds"] / first["links"])
        print(
            f"| {row['links']:,.0f} | {row['items']:,.0f} | {row['input_mb']:,.0f} | {row['seconds']:.1f} | {cost:.2f} "
            f"| {row['peak_mb']:,.0f} | {row['peak_mb'] / first['peak_mb']:.2f} | {ratio:.2f} |"
        )


if __name__ == "__main__":
    main()
