"""One training step, run as it is or captured once as a CUDA graph and replayed.

All that is random in step t is drawn from a generator seeded by (seed, t): a resumed run needs no generator's state.
"""

import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from logirec.config import TrainConfig
from logirec.model.logirec import LogiRec
from logirec.training.batches import QueryTable
from logirec.training.losses import draw_candidates, log_sigmoid_loss, new_hiding, score, softmax_loss

EAGER_STEPS = 3  # before the graph is captured: libraries make their handles, the optimiser its state


@dataclass(frozen=True)
class Part:
    """The queries of one shape in a step."""

    table: QueryTable
    count: int
    weight: float


def step_loss(model: LogiRec, parts: list[Part], config: TrainConfig, draws: Generator) -> Tensor:
    batches = [part.table.draw(part.count, draws) for part in parts]
    hiding = new_hiding(config.hidden, draws) if model.context is not None and config.hidden else None
    candidates = draw_candidates(model, config.candidates, draws)
    losses = []
    for part, scored in zip(parts, score(model, batches, candidates, draws, hiding), strict=True):
        if config.loss == "softmax":
            loss = softmax_loss(model, scored, draws, hiding)
        else:
            loss = log_sigmoid_loss(model, scored, draws, gamma=config.gamma, negatives=config.negatives)
        losses.append(part.weight * loss)
    return torch.stack(losses).sum()


def learning_rate(config: TrainConfig, step: int) -> float:
    if config.schedule == "drops":
        dropped = (2 * step >= config.max_steps) + (4 * step >= 3 * config.max_steps)
        return config.learning_rate / float(5**dropped)
    if step < config.warm_up:
        return config.learning_rate * (step + 1) / config.warm_up
    done = (step - config.warm_up) / max(1, config.max_steps - config.warm_up)
    return config.learning_rate * (0.55 + 0.45 * math.cos(math.pi * min(1.0, done)))


class Stepper:
    """Weights, optimiser and the sum of the losses since it was last read; `take` does a step."""

    def __init__(self, model: LogiRec, parts: list[Part], config: TrainConfig, seed: int) -> None:
        self.model, self.parts, self.config, self.seed = model, parts, config, seed
        self.device = model.raw_items.device
        self.draws = Generator(self.device)
        # Changed in place: a captured graph reads them from here.
        self.rate, self.item_rate = (torch.zeros((), device=self.device) for _ in range(2))
        self.mean = [p.detach().clone() for p in model.parameters()] if config.average else []
        self.towards = torch.zeros((), device=self.device)  # how far the mean goes towards the weights in this step
        self.loss_sum = torch.zeros((), device=self.device, dtype=torch.float64)
        items = [model.raw_items] if model.context is None else [model.raw_items, model.context.table]
        small = [p for p in model.parameters() if p.ndim < 2 or p is model.bias]
        large = [p for p in model.parameters() if all(p is not q for q in items + small)]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": items, "lr": self.item_rate, "weight_decay": config.weight_decay / config.item_rate},
                {"params": large, "lr": self.rate, "weight_decay": config.weight_decay},
                {"params": small, "lr": self.rate, "weight_decay": 0.0},
            ],
            fused=True,
            capturable=self.device.type == "cuda",
        )
        self._graph: torch.cuda.CUDAGraph | None = None
        self._eager = 0

    def take(self, step: int) -> None:
        rate = learning_rate(self.config, step)
        self.rate.fill_(rate)
        self.item_rate.fill_(rate * self.config.item_rate)
        self.towards.fill_(1 - min(self.config.average, (1 + step) / (10 + step)))  # early on, of the last few steps
        self.draws.manual_seed(_number(self.seed, step))
        if self.device.type != "cuda":
            self._work()
        elif self._graph is not None:
            self._graph.replay()
        elif self._eager < EAGER_STEPS:
            self._eager += 1
            side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self._work()
            torch.cuda.current_stream().wait_stream(side)
        else:
            self._graph = torch.cuda.CUDAGraph()
            self._graph.register_generator_state(self.draws)
            self.optimizer.zero_grad(set_to_none=True)
            with torch.cuda.graph(self._graph):
                self._work()
            self._graph.replay()

    def _work(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss = step_loss(self.model, self.parts, self.config, self.draws)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        with torch.no_grad():
            if self.mean:
                for mean, parameter in zip(self.mean, self.model.parameters(), strict=True):
                    mean.lerp_(parameter, self.towards)
            self.loss_sum += loss.detach()

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Within, the model has the running mean of its weights."""
        if not self.mean:
            yield
            return
        parameters: list[Tensor] = list(self.model.parameters())
        own = [p.detach().clone() for p in parameters]
        with torch.no_grad():
            torch._foreach_copy_(parameters, self.mean)
            try:
                yield
            finally:
                torch._foreach_copy_(parameters, own)

    # What a checkpoint keeps --------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """Weights, their running mean, both moments of the optimiser and its count, by name."""
        state = {"loss_sum": self.loss_sum, **{f"mean.{i}": mean for i, mean in enumerate(self.mean)}}
        for name, parameter in self.model.named_parameters():
            state[f"model.{name}"] = parameter.detach()
            for key, value in self.optimizer.state[parameter].items():
                state[f"optimizer.{key}.{name}"] = value
        return state

    def restore(self, tensors: dict[str, Tensor]) -> None:
        with torch.no_grad():
            self.loss_sum.copy_(tensors["loss_sum"])
            for i, mean in enumerate(self.mean):
                mean.copy_(tensors[f"mean.{i}"])
            for name, parameter in self.model.named_parameters():
                parameter.copy_(tensors[f"model.{name}"])
                for key in ("step", "exp_avg", "exp_avg_sq"):
                    saved = tensors[f"optimizer.{key}.{name}"]
                    where = self.device if self.device.type == "cuda" or key != "step" else torch.device("cpu")
                    self.optimizer.state[parameter][key] = saved.to(where, copy=True)


def _number(seed: int, step: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed} {step}".encode()).digest()[:7], "big")
