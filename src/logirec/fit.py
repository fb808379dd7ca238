"""Dataset -> trained model: the parts of a training run put together.

A run keeps its state in a folder beside the model, MODEL.training: checkpoints, run.json, metrics.jsonl, curves.png.
The model itself appears when the run has ended.
"""

import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np
import torch

from logirec import __version__
from logirec.config import Recipe
from logirec.data.dataset import Dataset
from logirec.data.graph import row_starts
from logirec.data.query_sets import KINDS, Kind
from logirec.errors import InputError, UsageError
from logirec.evaluation.calibration import fitted_curve, reliability
from logirec.evaluation.evaluate import Questions, evaluate, mean_mrr, questions
from logirec.evaluation.ranks import Scores
from logirec.evidence.gathering import Gathered, heard
from logirec.evidence.gathering import gathered as gathered_evidence
from logirec.evidence.lookalikes import lookalikes, take_places
from logirec.folders import MANIFEST, check_free, sha256
from logirec.index import approximate
from logirec.index.scorer import Scorer
from logirec.lessons import kinds_of, new_stepper, suited, too_few
from logirec.model import artifact
from logirec.model.card import model_card
from logirec.model.catalogue import Catalogue, KnownLinks
from logirec.model.logirec import LogiRec, settle
from logirec.progress import Progress
from logirec.refit import refit
from logirec.relation import Relation
from logirec.run_folder import RUN, opened
from logirec.training.step import Stepper
from logirec.training.trainer import HISTORY, Log, Outcome
from logirec.training.trainer import train as run_training

TEST_QUERIES = 5_000  # of each kind, for the figures that are kept with the model
# Times the queries that evidence of orders is judged by: most of them cannot be told, so that a few choose by chance.
MORE_OF_ORDERS = 16


class Trained(NamedTuple):
    """One model of a run."""

    model: LogiRec
    kept: LogiRec  # as it is asked
    outcome: Outcome


@dataclass(frozen=True)
class RunOptions:
    """How to run: nothing here changes what is learnt on one machine."""

    device: str = "auto"
    resume: bool = False
    force: bool = False
    checkpoint_seconds: float = 60.0
    tensorboard: bool = False
    ann: bool = False  # also build the approximate index


def train(
    dataset: Dataset,
    out: str | Path,
    recipe: Recipe,
    options: RunOptions = RunOptions(),  # noqa: B008  frozen
    progress: Progress = Progress(),  # noqa: B008  has no state
) -> dict[str, Any]:
    """Train, keep the best weights on validation, write the model folder; returns what is in its metrics.json."""
    out = Path(out).resolve()
    check_free(out, artifact.KIND, options.force or options.resume)
    run = _Run(dataset, suited(recipe, dataset), out, choose_device(options.device), options, progress)
    trained = run.trained()
    started = time.monotonic()
    gathered = run.gathered(trained)
    model, told = trained[0].kept, run.told(trained, gathered)
    seconds = sum(one.outcome.state.history[-1]["seconds"] for one in trained) + time.monotonic() - started
    judged = model if run.recipe.training.refit == "test" else told  # of what is told of test, test says nothing
    metrics, calibration = run.figures(trained[0].outcome, gathered, model, judged)
    metrics["seconds"] = round(seconds, 1)  # with validation and evidence, over all members and resumed runs
    run.save(told, metrics, calibration, trained[0].outcome.state.history)
    return metrics


class _Run:
    """What its parts have in common."""

    def __init__(
        self, dataset: Dataset, recipe: Recipe, out: Path, device: torch.device, options: RunOptions, progress: Progress
    ) -> None:
        self.dataset, self.recipe, self.out, self.device = dataset, recipe, out, device
        self.options, self.progress = options, progress
        self.folder = out.with_name(f"{out.name}.training")
        self.learnt, self.known = dataset.blind(), dataset.until(recipe.training.refit)
        self.asked = _validation(dataset, recipe)
        self.alike = lookalikes(self.learnt) if recipe.model.lookalikes else None

    def trained(self) -> list[Trained]:
        """All models of the run. From here on something is written."""
        first = new_stepper(self.learnt, self.recipe, self.device)  # what cannot be trained is known before that
        writer = _tensorboard() if self.options.tensorboard else None
        record = _record(self.dataset, self.recipe, self.device)
        opened(self.folder, record, self.options.resume, self.options.force)
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")  # TF32 for the networks; the divergence keeps all bits by itself
        try:
            found = [self._member(0, first, writer)]
            del first  # moments and tables of queries: evidence needs the room
            for member in range(1, self.recipe.training.members):
                stepper = new_stepper(self.learnt, self.recipe.of_member(member), self.device)
                found.append(self._member(member, stepper, writer))
        finally:
            torch.set_float32_matmul_precision(before)
        return found

    def _member(self, member: int, stepper: Stepper, writer: Any) -> Trained:
        members, most = self.recipe.training.members, self.recipe.training.max_steps

        def validate() -> dict[str, float]:
            scores = Scorer(self._kept(stepper)).scores
            items = self.dataset.items
            found = {f"{kind}_mrr": mean_mrr(scores, queries, items) for kind, queries in self.asked.items()}
            return {"mrr": geometric_mean(found.values()), **found}  # so that neither kind is bought with the other

        place = self.folder / f"member-{member}" if member else self.folder
        place.mkdir(exist_ok=True)
        name = "training" if members == 1 else f"training {member + 1} of {members}"
        with self.progress.task(name, most) as task, _log(writer, place) as log:
            outcome = run_training(stepper, validate, place, task, log, self.options.checkpoint_seconds)
        stepper.model.load_state_dict(outcome.weights)
        stepper.model.zero_grad(set_to_none=True)
        return Trained(stepper.model, self._kept(stepper), outcome)

    def _kept(self, stepper: Stepper) -> LogiRec:
        model = settle(stepper.model)
        if self.alike is not None:
            take_places(model, self.alike)
        return model

    def gathered(self, trained: list[Trained]) -> Gathered | None:
        """The first model's evidence, which it has from here on."""
        if not self.recipe.model.evidence:
            return None
        model, filtered = trained[0].kept, self.recipe.training.ranking == "filtered"
        with self.progress.task("gathering evidence"):
            opinions = heard([one.kept for one in trained], self.learnt)
            orders = self.dataset.baskets() is not None
            asked = _validation(self.dataset, self.recipe, MORE_OF_ORDERS) if orders else self.asked
            found = gathered_evidence(model, self.learnt, asked, self.alike, opinions, filtered)
        model.evidence = found.evidence
        return found

    def told(self, trained: list[Trained], gathered: Gathered | None) -> LogiRec:
        """The model that is written, told what the recipe wants it to be."""
        if self.recipe.training.refit == "train":
            return trained[0].kept
        with self.progress.task("telling it the rest"):
            return refit([one.model for one in trained], self.known, self.recipe, self.alike, gathered)

    def figures(
        self, outcome: Outcome, gathered: Gathered | None, model: LogiRec, judged: LogiRec
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The metrics, and the curves of confidence by what validation says of the model as it was chosen."""
        with self.progress.task("evaluating on test"):
            test = evaluate(Scorer(judged).scores, self.dataset, "test", TEST_QUERIES)
        with self.progress.task("calibrating"):
            knows = self.dataset.baskets() is None
            calibration: dict[str, Any] = {
                kind: fitted_curve(Scorer(model).scores, queries, self.dataset.items) | {"knows": knows}
                for kind, queries in self.asked.items()
            }
            trust = _reliability(calibration, Scorer(judged).scores, self.dataset)
        config, state = self.recipe.training, outcome.state
        valid_mrr = state.best if config.keep_best else state.history[-1]["valid_mrr"]
        chosen = gathered.chosen if gathered else {}
        if chosen:
            valid_mrr = geometric_mean(max(choice.valid_mrr, 1e-9) for choice in chosen.values())
        metrics = {
            "steps": state.step,
            "stopped_early": outcome.stopped_early,
            "best_step": state.best_step if config.keep_best else state.step,
            "valid_mrr": valid_mrr,
            "evidence": {kind: choice._asdict() for kind, choice in chosen.items()},
            "refit": config.refit,
            "not_validated": [kind for kind in KINDS if kind not in self.asked],
            "test": test,
            "reliability": trust,
        }
        return metrics, calibration

    def save(
        self, model: LogiRec, metrics: dict[str, Any], calibration: dict[str, Any], history: list[dict[str, Any]]
    ) -> None:
        beside = [self.folder / RUN, self.folder / HISTORY, *_draw(history, metrics["reliability"], self.folder)]
        if self.options.ann:
            with self.progress.task("building the approximate index"):
                metrics["approximate"] = _approximate(model, self.folder, self.recipe.seed)
            if "refused" not in metrics["approximate"]:
                beside += [self.folder / approximate.FILE, self.folder / approximate.SETTINGS]
        described = (self.dataset.descriptions[name] for name in ("title", "brand", "category"))
        parts = artifact.Parts(
            weights=model.state_dict(),
            evidence=None if model.evidence is None else model.evidence.tensors(),
            recipe=self.recipe,
            catalogue=Catalogue(self.dataset.vocabulary.item_ids, *described),
            links=_known_links(self.known),
            calibration=calibration,
            metrics=metrics,
            card=model_card(self.recipe, self.dataset.manifest, metrics),
            dataset_sha256=sha256(self.dataset.folder / MANIFEST),
            beside=beside,
        )
        artifact.save(self.out, parts, force=self.options.force or self.options.resume)


def _approximate(model: LogiRec, folder: Path, seed: int) -> dict[str, Any]:
    """A model that is no good for it is a model all the same."""
    try:
        return approximate.build(model, folder, seed)
    except InputError as error:
        return {"refused": str(error)}


def _reliability(calibration: dict[str, Any], scores: Scores, dataset: Dataset) -> dict[str, Any]:
    """Of the curves that validation gave, on test."""
    asked = {kind: questions(dataset, "test", kind, TEST_QUERIES) for kind in KINDS if kind in calibration}
    return {
        kind: reliability(calibration[kind], scores, queries, dataset.items)
        for kind, queries in asked.items()
        if len(queries.queries)
    }


def _known_links(dataset: Dataset) -> dict[Relation, KnownLinks]:
    found = {}
    for relation, links in dataset.graph().links.items():
        starts = row_starts(links.source, dataset.items).astype(np.int64)
        found[relation] = KnownLinks(starts, links.target.astype(np.int32))
    return found


def choose_device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name not in ("cpu", "cuda"):
        raise UsageError(f"--device {name}: not one of auto, cpu, cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: no GPU here that torch can use; --device cpu works everywhere")
    return torch.device(name)


def _validation(dataset: Dataset, recipe: Recipe, times: int = 1) -> dict[Kind, Questions]:
    """What there is of each kind: a kind without any is learnt all the same, and answered as the other teaches.

    `times` as many as are looked at while training."""
    most, seed = times * recipe.training.validate_queries, recipe.seed
    asked = {kind: questions(dataset, "valid", kind, most, seed) for kind in kinds_of(recipe)}
    asked = {kind: queries for kind, queries in asked.items() if len(queries.queries)}
    if not asked:
        raise too_few(dataset, recipe, "validate")
    return {kind: queries.raw() for kind, queries in asked.items()} if recipe.training.ranking == "raw" else asked


def _record(dataset: Dataset, recipe: Recipe, device: torch.device) -> dict[str, Any]:
    """What run.json says."""
    return {
        "recipe": recipe.model_dump(mode="json"),
        "dataset": {"folder": str(dataset.folder), "sha256": sha256(dataset.folder / MANIFEST)},
        "logirec": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "command": " ".join(sys.argv),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


# What people look at -----------------------------------------------------------------------------------------------


def _draw(history: list[dict[str, Any]], trust: dict[str, Any], folder: Path) -> list[Path]:
    try:
        from logirec.reports.plots import draw_curves, draw_reliability
    except ImportError:  # the extra `plots` is not installed
        return []
    draw_curves(history, folder / "curves.png")
    if not trust:
        return [folder / "curves.png"]
    draw_reliability(trust, folder / "reliability.png")
    return [folder / "curves.png", folder / "reliability.png"]


def _tensorboard() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise UsageError("--tensorboard needs the extra: pip install 'logirec[tensorboard]'") from error
    return SummaryWriter


@contextmanager
def _log(writer: Any, folder: Path) -> Iterator[Log]:
    """Where records go while training: TensorBoard when asked for."""
    if writer is None:
        yield lambda record: None
        return
    with writer(str(folder / "tensorboard")) as board:

        def write(record: dict[str, Any]) -> None:
            for name, value in record.items():
                if name != "step":
                    board.add_scalar(name, value, record["step"])

        yield write
