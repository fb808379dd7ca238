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
from logirec.config import MAX_TRAINING_BASKET, Recipe
from logirec.data.dataset import Dataset
from logirec.data.graph import ItemGraph, row_starts
from logirec.data.query_sets import KINDS, Kind, QuerySet, Ragged
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
from logirec.model import artifact
from logirec.model.card import model_card
from logirec.model.catalogue import Catalogue, KnownLinks
from logirec.model.logirec import LogiRec, Shape, settle
from logirec.progress import Progress
from logirec.refit import refit
from logirec.relation import Relation
from logirec.run_folder import RUN, opened
from logirec.training.bags import item_bags
from logirec.training.batches import QueryTable, link_queries, up_to
from logirec.training.orders import order_queries
from logirec.training.sets import drawn_sets
from logirec.training.step import Part, Stepper
from logirec.training.trainer import HISTORY, Log, Outcome
from logirec.training.trainer import train as run_training

SHAPES: dict[Kind, Shape] = {"low": Shape.LOW, "high": Shape.HIGH}
TEST_QUERIES = 5_000  # of each kind, for the figures that are kept with the model
ASKED_EACH = 2  # times that a basket drawn from the training orders is asked about, on the mean
# Times the queries that evidence of orders is judged by: most of them cannot be told, so that a few choose by chance.
MORE_OF_ORDERS = 16
DRAWN_SETS = 20_000  # baskets made from the training links, of which each step takes some


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
    device = choose_device(options.device)
    recipe = suited(recipe, dataset)
    learnt = dataset.blind()
    first = new_stepper(learnt, recipe, device)
    asked = _validation(dataset, recipe)
    alike = lookalikes(learnt) if recipe.model.lookalikes else None

    writer = _tensorboard() if options.tensorboard else None
    folder = out.with_name(f"{out.name}.training")
    opened(folder, _record(dataset, recipe, device), options.resume, options.force)  # from here on something is written
    members = recipe.training.members

    def run(member: int, stepper: Stepper) -> Trained:
        def kept() -> LogiRec:
            model = settle(stepper.model)
            if alike is not None:
                take_places(model, alike)
            return model

        def validate() -> dict[str, float]:
            scores = Scorer(kept()).scores
            found = {f"{kind}_mrr": mean_mrr(scores, queries, dataset.items) for kind, queries in asked.items()}
            return {"mrr": geometric_mean(found.values()), **found}  # so that neither kind is bought with the other

        place = folder / f"member-{member}" if member else folder
        place.mkdir(exist_ok=True)
        name = "training" if members == 1 else f"training {member + 1} of {members}"
        with progress.task(name, recipe.training.max_steps) as task, _log(writer, place) as log:
            outcome = run_training(stepper, validate, place, task, log, options.checkpoint_seconds)
        stepper.model.load_state_dict(outcome.weights)
        stepper.model.zero_grad(set_to_none=True)
        return Trained(stepper.model, kept(), outcome)

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")  # TF32 for the networks; the divergence keeps all bits by itself
    try:
        trained = [
            run(member, new_stepper(learnt, recipe.of_member(member), device) if member else first)
            for member in range(members)
        ]
    finally:
        torch.set_float32_matmul_precision(before)
    del first  # moments and tables of queries: evidence needs the room
    _, model, outcome = trained[0]
    gathered: Gathered | None = None
    valid_mrr = outcome.state.best if recipe.training.keep_best else outcome.state.history[-1]["valid_mrr"]
    started = time.monotonic()
    if recipe.model.evidence:
        with progress.task("gathering evidence"):
            opinions = heard([one.kept for one in trained], learnt)
            filtered = recipe.training.ranking == "filtered"
            weighed = asked if dataset.baskets() is None else _validation(dataset, recipe, MORE_OF_ORDERS)
            gathered = gathered_evidence(model, learnt, weighed, alike, opinions, filtered)
        model.evidence = gathered.evidence
        valid_mrr = geometric_mean(max(choice.valid_mrr, 1e-9) for choice in gathered.chosen.values())
    until = recipe.training.refit
    known = dataset.until(until)

    def told() -> LogiRec:
        with progress.task("telling it the rest"):
            return refit([one.model for one in trained], known, recipe, alike, gathered)

    judged = told() if until == "valid" else model
    seconds = sum(one.outcome.state.history[-1]["seconds"] for one in trained) + time.monotonic() - started
    with progress.task("evaluating on test"):
        test = evaluate(Scorer(judged).scores, dataset, "test", TEST_QUERIES)
    with progress.task("calibrating"):
        calibration: dict[str, Any] = {
            kind: fitted_curve(Scorer(model).scores, queries, dataset.items) | {"knows": dataset.baskets() is None}
            for kind, queries in asked.items()
        }
        trust = _reliability(calibration, Scorer(judged).scores, dataset)
    started = time.monotonic()
    model = told() if until == "test" else judged  # of what is told of test, test says nothing
    seconds += time.monotonic() - started
    metrics = {
        "steps": outcome.state.step,
        "stopped_early": outcome.stopped_early,
        "best_step": outcome.state.best_step if recipe.training.keep_best else outcome.state.step,
        "valid_mrr": valid_mrr,
        "seconds": round(seconds, 1),  # with validation and evidence, over all members and resumed runs
        "evidence": {kind: choice._asdict() for kind, choice in gathered.chosen.items()} if gathered else {},
        "refit": until,
        "not_validated": [kind for kind in KINDS if kind not in asked],
        "test": test,
        "reliability": trust,
    }
    beside = [folder / RUN, folder / HISTORY]
    beside += _draw(outcome.state.history, trust, folder)
    if options.ann:
        with progress.task("building the approximate index"):
            metrics["approximate"] = _approximate(model, folder, recipe.seed)
        if "refused" not in metrics["approximate"]:
            beside += [folder / approximate.FILE, folder / approximate.SETTINGS]
    parts = artifact.Parts(
        weights=model.state_dict(),
        evidence=None if model.evidence is None else model.evidence.tensors(),
        recipe=recipe,
        catalogue=Catalogue(
            dataset.vocabulary.item_ids, *(dataset.descriptions[n] for n in ("title", "brand", "category"))
        ),
        links=_known_links(known),
        calibration=calibration,
        metrics=metrics,
        card=model_card(recipe, dataset.manifest, metrics),
        dataset_sha256=sha256(dataset.folder / MANIFEST),
        beside=beside,
    )
    artifact.save(out, parts, force=options.force or options.resume)
    return metrics


def suited(recipe: Recipe, dataset: Dataset) -> Recipe:
    """The recipe as it is for such data."""
    return recipe.for_orders() if recipe.training.orders and dataset.baskets() is not None else recipe


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


def kinds_of(recipe: Recipe) -> list[Kind]:
    """The kinds of query that the variant is for."""
    return [kind for kind in KINDS if recipe.variant in (kind, "hybrid")]


def _validation(dataset: Dataset, recipe: Recipe, times: int = 1) -> dict[Kind, Questions]:
    """What there is of each kind: a kind without any is learnt all the same, and answered as the other teaches.

    `times` as many as are looked at while training."""
    most, seed = times * recipe.training.validate_queries, recipe.seed
    asked = {kind: questions(dataset, "valid", kind, most, seed) for kind in kinds_of(recipe)}
    asked = {kind: queries for kind, queries in asked.items() if len(queries.queries)}
    if not asked:
        raise _too_few(dataset, recipe, "validate")
    return {kind: queries.raw() for kind, queries in asked.items()} if recipe.training.ranking == "raw" else asked


def _too_few(dataset: Dataset, recipe: Recipe, what: str) -> InputError:
    return InputError(
        f"{dataset.folder}: no {' or '.join(kinds_of(recipe))} queries to {what} on, which --variant "
        f"{recipe.variant} needs; choose another --variant or prepare more data"
    )


def new_stepper(dataset: Dataset, recipe: Recipe, device: torch.device) -> Stepper:
    graph = dataset.graph()
    bags = item_bags(graph, recipe.model.neighbours, recipe.seed) if recipe.model.context else ()
    model = LogiRec(dataset.items, recipe.model, recipe.seed, bags).to(device)
    for relation, links in graph.links.items():
        counts = np.bincount(links.target, minlength=dataset.items)
        model.start_at_popularity(relation, torch.from_numpy(counts))
    config = recipe.training
    orders = dataset.baskets() if config.orders else None
    parts = _training_parts(dataset, graph, recipe, device, orders)
    if orders is not None:
        config = config.model_copy(update={"hidden": 0.0})  # later baskets repeat known pairs: nothing is to be hidden
    return Stepper(model, parts, config, recipe.seed)


def _training_parts(
    dataset: Dataset,
    graph: ItemGraph,
    recipe: Recipe,
    device: torch.device,
    orders: Ragged | None,
) -> list[Part]:
    config = recipe.training
    drawn = max(1, config.max_steps * config.batch // ASKED_EACH)
    made = None if orders is None else order_queries(orders, drawn, recipe.seed)
    asked = {kind: queries for kind in kinds_of(recipe) if len(queries := _asked(dataset, kind, made))}
    if not asked:
        raise _too_few(dataset, recipe, "train")
    counts = {kind: 1 if config.mix == "even" else len(queries) for kind, queries in asked.items()}
    parts = []
    for kind, queries in asked.items():
        table = QueryTable(SHAPES[kind], queries.members, queries.answers, dataset.items, device)
        share = counts[kind] / sum(counts.values())
        parts.append(Part(table, max(1, round(config.batch * share)), share))
    if made is not None:  # all that the links say is in the orders
        return parts
    if config.set_batch and "high" in kinds_of(recipe) and len(sets := drawn_sets(graph, DRAWN_SETS, recipe.seed)):
        table = QueryTable(Shape.HIGH, sets.members, sets.answers, dataset.items, device)
        parts.append(Part(table, config.set_batch, config.beside_weight))
    if config.link_batch:
        for relation in Relation:
            if len(graph.links[relation]):
                table = QueryTable(Shape(int(relation)), *link_queries(graph, relation), dataset.items, device)
                parts.append(Part(table, config.link_batch, config.beside_weight))
    return parts


def _asked(dataset: Dataset, kind: Kind, made: QuerySet | None) -> QuerySet:
    if made is None:
        return up_to(dataset.queries("train", kind), MAX_TRAINING_BASKET)
    single = made.members.lengths == 1
    return made.take(np.flatnonzero(single if kind == "low" else ~single))


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
