"""How much memory LightGCN takes on a large user-item graph.

    .venv/bin/python benchmarks/lightgcn_memory.py --items 600000 --users 1000000 --interactions 6000000

A random graph with popular items; a few steps are enough, as every step takes the same. On a GPU with --device cuda.
"""

import argparse
import json
import resource
import time

import numpy as np
import torch

from logirec.baselines import lightgcn
from logirec.baselines.lightgcn import LightGCN


class Users:
    """As much of a dataset as LightGCN reads."""

    def __init__(self, items: int, users: int, count: int) -> None:
        random = np.random.default_rng(0)
        self.items = items
        item = (items * random.random(count) ** 3).astype(np.int32)  # the first are bought most
        self.found = {"user": random.integers(users, size=count).astype(np.int32), "item": item}

    def interactions(self) -> dict[str, np.ndarray]:
        return self.found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=600_000)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--interactions", type=int, default=6_000_000)
    parser.add_argument("--dims", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    lightgcn.MOST_STEPS = arguments.steps
    dataset = Users(arguments.items, arguments.users, arguments.interactions)
    model = LightGCN(dims=arguments.dims, layers=arguments.layers, epochs=1, device=arguments.device)
    started = time.perf_counter()
    model.fit(dataset)  # type: ignore[arg-type]
    report = {
        "seconds_per_step": (time.perf_counter() - started) / arguments.steps,
        "peak_memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    if arguments.device == "cuda":
        report["peak_gpu_memory_gb"] = torch.cuda.max_memory_allocated() / 2**30
    print(json.dumps({**vars(arguments), **report}, indent=1))


if __name__ == "__main__":
    main()
