"""The training loop: flat, readable, resumable."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from logirec.config import TrainConfig
from logirec.errors import Diverged, Interrupted, UsageError
from logirec.progress import Task
from logirec.training import checkpoint
from logirec.training.checkpoint import TrainingState
from logirec.training.interrupt import deferred
from logirec.training.step import Stepper, learning_rate

HISTORY = "metrics.jsonl"
LOOK_EVERY = {"cpu": 1, "cuda": 50}  # steps between looks at the loss: on a GPU each look waits for it

Validate = Callable[[], dict[str, float]]  # "mrr" decides; the rest is written down beside it
Log = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Outcome:
    state: TrainingState
    weights: dict[str, Tensor]  # what to keep
    stopped_early: bool


def train(
    stepper: Stepper,
    validate: Validate,
    folder: Path,
    task: Task,
    log: Log,
    checkpoint_seconds: float = 60.0,
) -> Outcome:
    """Steps until max_steps, or until validation has not risen for `patience`. Goes on from the folder's checkpoint."""
    config, model = stepper.config, stepper.model
    checkpoints = folder / "checkpoints"
    state, best = TrainingState(), dict[str, Tensor]()
    if (saved := checkpoint.load(checkpoints)) is not None:
        state, tensors = saved
        stepper.restore(tensors)
        best = {name[5:]: tensor.to(stepper.device) for name, tensor in tensors.items() if name.startswith("best.")}
    if state.step >= config.max_steps and (not state.history or state.history[-1]["step"] != state.step):
        raise UsageError(f"--resume: the run is at step {state.step} already; give it more --max-steps")
    _rewrite_history(folder, state)
    task.advance(state.step)

    def save() -> None:
        if not all(bool(parameter.isfinite().all()) for parameter in model.parameters()):
            raise Diverged(_advice(state.step))  # the loss would only say so after the next step
        checkpoint.save(checkpoints, state, {**stepper.tensors(), **{f"best.{n}": t for n, t in best.items()}})

    look_every = LOOK_EVERY[stepper.device.type]
    started = written = time.monotonic()
    before = state.history[-1]["seconds"] if state.history else 0.0  # what earlier processes took
    first = looked = state.step
    stalled = _stalled(state, config)
    with deferred() as interruption:
        while state.step < config.max_steps and not stalled:
            stepper.take(state.step)
            state.step += 1
            state.summed += 1
            validation_due = state.step % config.validate_every == 0 or state.step == config.max_steps
            if state.step % look_every and not validation_due:
                continue
            loss = float(stepper.loss_sum) / state.summed
            if not math.isfinite(loss):
                raise Diverged(_advice(state.step))
            rate = (state.step - first) / (time.monotonic() - started)
            task.advance(state.step - looked, _note(loss, state, rate))
            looked = state.step
            if validation_due:
                with stepper.averaged():
                    found = validate()
                    if found["mrr"] > state.best:
                        state.best, state.best_step = found["mrr"], state.step
                        best = _copy(model) if config.keep_best else {}
                record = {
                    "step": state.step,
                    "loss": loss,
                    "learning_rate": learning_rate(config, state.step - 1),
                    **{f"valid_{name}": value for name, value in found.items()},
                    "seconds": round(before + time.monotonic() - started, 3),
                }
                state.history.append(record)
                _append_history(folder, record)
                log(record)
                stepper.loss_sum.zero_()
                state.summed = 0
                stalled = _stalled(state, config)
            if interruption.asked or time.monotonic() - written >= checkpoint_seconds:
                save()
                written = time.monotonic()
            if interruption.asked:
                raise Interrupted(f"interrupted: checkpoint written at step {state.step}; --resume goes on from it")
        save()
    with stepper.averaged():
        return Outcome(state, best or _copy(model), stalled)


def _stalled(state: TrainingState, config: TrainConfig) -> bool:
    """As of the last look at validation, so that a resumed run stops where an uninterrupted one does."""
    if not state.history or not config.patience:
        return False
    return bool(state.history[-1]["step"] - state.best_step >= config.patience)


def _copy(model: torch.nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.named_parameters()}


def _note(loss: float, state: TrainingState, rate: float) -> str:
    valid = f" valid MRR {state.history[-1]['valid_mrr']:.3f} best {state.best:.3f}" if state.history else ""
    return f"loss {loss:.3f}{valid} {rate:.3g}/s"


def _advice(step: int) -> str:
    return f"the loss is no number any more at step {step}; lower --set training.learning_rate and add --force"


def _rewrite_history(folder: Path, state: TrainingState) -> None:
    """metrics.jsonl as of the checkpoint: what a killed run wrote after it happens again."""
    (folder / HISTORY).write_text("", encoding="utf-8")
    for record in state.history:
        _append_history(folder, record)


def _append_history(folder: Path, record: dict[str, Any]) -> None:
    with (folder / HISTORY).open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
