"""Training speed, as a ratio to the literal implementation measured in the same run."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch

from logirec.bench import literal
from logirec.config import PrepareConfig, recipe
from logirec.data.dataset import Dataset
from logirec.fit import choose_device
from logirec.lessons import new_stepper
from logirec.progress import Progress
from logirec.training.step import Stepper

GIFT_CARDS_ITEMS = 3_835  # the catalogue of the data that the paper's authors released


def bench_training(dataset: Path | None, device: str, steps: int, progress: Progress) -> dict[str, Any]:
    """Median time of a step: the literal paper, ours with preset paper, ours with preset default."""
    where = choose_device(device)
    with tempfile.TemporaryDirectory() as temporary:
        if dataset is None:
            from logirec.data.prepare import Inputs, prepare  # late: a machine with a GPU may lack what it needs

            dataset = Path(temporary) / "dataset"
            prepare(Inputs(demo_items=GIFT_CARDS_ITEMS), dataset, PrepareConfig(), progress=progress)
        data = Dataset.load(dataset)
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")  # for all three alike
        try:
            with progress.task("literal"):
                slow = _literal_seconds(data, where, max(3, steps // 4))
            with progress.task("ours"):
                paper, default = (_step_seconds(data, preset, where, steps) for preset in ("paper", "default"))
        finally:
            torch.set_float32_matmul_precision(before)
    return {
        "ratio_to_literal": slow / paper,
        "steps_per_second": 1 / paper,
        "steps_per_second_literal": 1 / slow,
        "steps_per_second_default": 1 / default,
        "items": data.items,
        "device": torch.cuda.get_device_name() if where.type == "cuda" else f"cpu, {torch.get_num_threads()} threads",
    }


def _stepper(data: Dataset, preset: str, device: torch.device) -> Stepper:
    chosen = recipe(preset, "hybrid", 0, {})
    return new_stepper(data, chosen, device)


def _step_seconds(data: Dataset, preset: str, device: torch.device, steps: int) -> float:
    stepper = _stepper(data, preset, device)
    return _median_seconds(stepper.take, steps, device)


def _literal_seconds(data: Dataset, device: torch.device, steps: int) -> float:
    stepper = _stepper(data, "paper", device)

    def take(step: int) -> None:
        stepper.draws.manual_seed(step)
        stepper.rate.fill_(stepper.config.learning_rate)
        stepper.item_rate.fill_(stepper.config.learning_rate)
        stepper.optimizer.zero_grad(set_to_none=True)
        literal.step_loss(stepper.model, stepper.parts, stepper.config, stepper.draws).backward()  # type: ignore[no-untyped-call]
        stepper.optimizer.step()

    return _median_seconds(take, steps, device)


def _median_seconds(take: Callable[[int], None], steps: int, device: torch.device) -> float:
    """Of single steps on a CPU; on a GPU of groups of steps, since it works behind our back."""
    group = 1 if device.type == "cpu" else 25
    times = []
    warm_up = 2 if device.type == "cpu" else 5
    for step in range(warm_up):
        take(step)
    for first in range(warm_up, warm_up + steps * group, group):
        if device.type == "cuda":
            torch.cuda.synchronize()
        started = time.perf_counter()
        for step in range(first, first + group):
            take(step)
        if device.type == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - started) / group)
    return median(times)
