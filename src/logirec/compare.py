"""Many models on one dataset under one protocol: fitted, tuned on validation, ranked on test.

Each model's result goes to the work folder, DATASET.compare, or DATASET.compare-refit, as soon as it is there, and is
not made again.
"""

import hashlib
import json
import time
from dataclasses import dataclass
from statistics import geometric_mean
from traceback import clear_frames
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from logirec import __version__
from logirec.baselines.base import Baseline, check, members_last
from logirec.baselines.registry import BASELINES, Entry, Settings
from logirec.config import Recipe
from logirec.contenders import LOGIREC, NAMES, OURS, choose
from logirec.data.dataset import Dataset
from logirec.data.query_sets import KINDS, Kind, Ragged, Stage
from logirec.errors import ArtifactError, InputError, Interrupted, LogiRecError
from logirec.evaluation.asymmetry import asymmetry
from logirec.evaluation.evaluate import Questions, link_popularity, mean_mrr, questions, report, standings
from logirec.evaluation.metrics import intervals, per_query
from logirec.evaluation.ranks import Scores
from logirec.fit import RunOptions, choose_device, train
from logirec.folders import MANIFEST, sha256
from logirec.index.scorer import Scorer
from logirec.lessons import suited
from logirec.memory import ran_out
from logirec.model.artifact import TrainedModel
from logirec.peak import peak_memory
from logirec.progress import Progress
from logirec.results import Result, Results

PAIRED = ("mrr", "hit@3", "ndcg@3", "hit@10")  # metrics with paired intervals
VALIDATION_QUERIES = 1_000  # of each kind, on which settings are chosen


@dataclass(frozen=True)
class CompareOptions:
    models: tuple[str, ...] = ()  # none: all that this machine can train
    seed: int = 0
    max_queries: int = 5_000  # test queries of each kind, drawn once
    device: str = "auto"
    force: bool = False  # make results again that are there
    refit: bool = False  # what was chosen is told validation's links too


def compare(
    dataset: Dataset,
    options: CompareOptions = CompareOptions(),  # noqa: B008  frozen
    progress: Progress = Progress(),  # noqa: B008  has no state
) -> dict[str, Any]:
    """models -> NAME -> low|high -> filtered|raw -> metrics, with costs; `left_out` says which could not and why."""
    device = choose_device(options.device).type
    names, left_out = choose(options.models, device)
    match = Match(dataset, options, device, progress)
    results: dict[str, Result] = {}
    broken: Exception | None = None
    for name in names:
        try:
            results[name] = match.result(name)
        except InputError as error:  # nothing here that it could learn from, or it diverged: the others go on
            left_out[name] = str(error)
        except (LogiRecError, OSError):  # a full disk will be full for the others too
            raise
        except Exception as error:  # a new baseline's own, mostly: the others go on
            broken = error
            clear_frames(error.__traceback__)  # what it had made; the others need the room
            said = next(iter(str(error).splitlines()), "")
            left_out[name] = "out of memory" if ran_out(error) else f"failed with {type(error).__name__}: {said}"
    if not results:
        raise InputError("; ".join(f"{name}: {why}" for name, why in left_out.items())) from broken
    return {
        "dataset": match.described,
        "seed": options.seed,
        "refit": options.refit,
        "models": {name: result.record for name, result in results.items()},
        "left_out": left_out,
        "against_best_baseline": _paired(results, options.seed),
    }


def finished(dataset: Dataset, options: CompareOptions) -> set[str]:
    """Models whose results would not be made again."""
    match = Match(dataset, options, "cpu", Progress())
    return {name for name in NAMES if match.results.load(name, match.key(name))}


class Fitted(NamedTuple):
    scores: Scores
    pairwise: bool
    record: dict[str, Any]


class Match:
    """The dataset's queries, asked once, and the models that answer them."""

    def __init__(self, dataset: Dataset, options: CompareOptions, device: str, progress: Progress) -> None:
        self.dataset, self.options, self.device, self.progress = dataset, options, device, progress
        folder = dataset.folder.resolve()
        name = folder.name.encode("utf-8", "replace").decode()
        source = dataset.manifest["source"]
        self.described = {
            "name": name,
            "protocol": dataset.protocol,
            "split_seed": dataset.manifest["seed"],
            "items": dataset.items,
            "source": source.get("name", source["format"]),
            "sha256": sha256(dataset.folder / MANIFEST),
        }
        with progress.task("reading queries"):
            self.valid = self._questions("valid", VALIDATION_QUERIES)
            self.test = self._questions("test", options.max_queries)
            self.popularity = link_popularity(dataset)
        if not self.test:
            raise InputError(f"{dataset.folder}: no test queries to compare on; prepare more data")
        self.known = dataset.until("valid" if options.refit else "train")
        self.results = Results(folder.with_name(f"{folder.name}.compare{'-refit' if options.refit else ''}"))

    def _questions(self, stage: Stage, most: int) -> dict[Kind, Questions]:
        asked = {kind: questions(self.dataset, stage, kind, most, self.options.seed) for kind in KINDS}
        return {kind: found for kind, found in asked.items() if len(found.queries)}

    def key(self, name: str) -> str:
        """What the result hangs on."""
        if name in BASELINES:
            settings: Any = [BASELINES[name].where, BASELINES[name].tried]
        else:
            settings = self._recipe(name).model_dump()
        parts = [self.described["sha256"], __version__, self.options.seed, self.options.max_queries, settings]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _recipe(self, name: str) -> Recipe:
        made = suited(LOGIREC[name][1](self.options.seed), self.dataset)
        told = {"training": made.training.model_copy(update={"refit": "valid"})}
        return made.model_copy(update=told) if self.options.refit else made

    def result(self, name: str) -> Result:
        key = self.key(name)
        if not self.options.force and (made := self.results.load(name, key)):
            return made
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        fitted = self._baseline(name, BASELINES[name]) if name in BASELINES else self._logirec(name, key)
        return self.results.save(name, key, self._ranked(name, fitted))

    # Fitting --------------------------------------------------------------------------------------------------------

    def _baseline(self, name: str, entry: Entry) -> Fitted:
        """Settings are chosen on validation, where there is one that training has not seen."""
        blind = not self.valid or self.dataset.protocol == "released"
        attempts: list[dict[str, Any]] = []
        best: Baseline | None = None
        settings_to_try = entry.tried[:1] if blind else entry.tried
        with self.progress.task(f"{name}: fitting", len(settings_to_try)) as task:
            for settings in settings_to_try:
                model, record = self._attempt(entry, settings)
                if best is None or record["valid_mrr"] > max(other["valid_mrr"] for other in attempts):
                    best, chosen = model, record
                attempts.append(record)
                del model  # two at a time are enough
                task.advance(1)
        assert best is not None  # noqa: S101  there is always one to try
        if self.options.refit:
            with self.progress.task(f"{name}: fitting once more"):
                best, cost = self._fitted(entry, chosen["settings"], self.known)
            chosen = chosen | cost
        record = {
            "says": entry.says,
            "ours": False,
            "settings": chosen["settings"],
            "tried": attempts,
            "fit_seconds": chosen["fit_seconds"],
            "tuning_seconds": sum(record["fit_seconds"] for record in attempts),
            "memory_mb": chosen["memory_mb"],
        }
        return Fitted(members_last(best.scores), getattr(best, "pairwise", False), record)

    def _attempt(self, entry: Entry, settings: Settings) -> tuple[Baseline, dict[str, Any]]:
        model, cost = self._fitted(entry, settings, self.dataset)
        record = {"settings": dict(settings), **cost}
        found = {f"valid_{kind}_mrr": self._valid_mrr(model.scores, kind) for kind in self.valid}
        return model, record | ({"valid_mrr": geometric_mean(found.values()), **found} if found else {})

    def _fitted(self, entry: Entry, settings: Settings, known: Dataset) -> tuple[Baseline, dict[str, Any]]:
        """With what that took."""
        started = time.perf_counter()
        with peak_memory() as memory:
            model = entry.make(settings, self.device, self.options.seed).fit(known)
        check(model, known.items)
        return model, {"fit_seconds": time.perf_counter() - started, "memory_mb": memory.megabytes}

    def _valid_mrr(self, scores: Scores, kind: Kind) -> float:
        # Never quite zero: the mean of both kinds is geometric.
        return max(mean_mrr(scores, self.valid[kind], self.dataset.items), 1e-9)

    def _logirec(self, name: str, key: str) -> Fitted:
        recipe = self._recipe(name)
        if self.options.refit and not recipe.can_be_told:
            raise InputError("all that it knows is learnt: it can be told nothing")
        out = self.results.folder / "models" / f"{name}-{key[:12]}"  # another seed or dataset is another folder
        out.parent.mkdir(exist_ok=True)
        with peak_memory() as memory:
            model = None if self.options.force else self._trained_before(out)
            trained_now = model is None
            if model is None:
                resume = not self.options.force and (out.parent / f"{out.name}.training" / "run.json").exists()
                run = RunOptions(self.device, resume=resume, force=not resume)
                try:
                    train(self.dataset, out, recipe, run, self.progress)
                except Interrupted as error:
                    raise Interrupted("interrupted: the same command goes on from here") from error
                model = TrainedModel.load(out, torch.device(self.device))
        metrics = model.metrics
        tried = {"settings": {}, "fit_seconds": metrics["seconds"], "valid_mrr": metrics["valid_mrr"]}
        record = {
            "says": LOGIREC[name][0],
            "ours": name.startswith(OURS),
            "settings": {"steps": metrics["best_step"]},
            "tried": [tried],
            "fit_seconds": metrics["seconds"],
            "tuning_seconds": metrics["seconds"],
            "memory_mb": memory.megabytes if trained_now else None,
        }
        return Fitted(Scorer(model.model).scores, False, record)

    def _trained_before(self, out: Any) -> TrainedModel | None:
        try:
            return TrainedModel.load(out, torch.device(self.device))
        except ArtifactError:
            return None

    # Ranking --------------------------------------------------------------------------------------------------------

    def _ranked(self, name: str, fitted: Fitted) -> Result:
        record, timed = dict(fitted.record), _Timed(fitted.scores)
        values: dict[str, np.ndarray] = {}
        with self.progress.task(f"{name}: ranking"):
            for kind, asked in self.test.items():
                stand = standings(timed, asked, self.dataset.items)
                record[kind] = report(stand, asked, self.popularity, self.options.seed)
                for ranking, standing in (("filtered", stand.filtered), ("raw", stand.raw)):
                    found = per_query(standing, asked.queries.answers)
                    values |= {f"{kind}.{ranking}.{metric}": found[metric].astype(np.float32) for metric in PAIRED}
        with self.progress.task(f"{name}: asymmetry"):
            unseen = self.test if self.options.refit else self.valid
            record["asymmetry"] = asymmetry(fitted.scores, self.dataset.items, unseen.get("low"), fitted.pairwise)
        record["scoring_ms_per_query"] = round(1000 * timed.seconds / timed.queries, 4)
        record["device"] = self.device
        if self.device == "cuda":
            record["gpu_memory_mb"] = round(torch.cuda.max_memory_allocated() / 2**20, 1)
        return Result(record, values)


class _Timed:
    """Counts what scoring costs, apart from ranking."""

    def __init__(self, scores: Scores) -> None:
        self.scores, self.seconds, self.queries = scores, 0.0, 0

    def __call__(self, baskets: Ragged) -> Tensor:
        started = _now()
        table = self.scores(baskets)
        self.seconds += _now() - started
        self.queries += len(baskets)
        return table


def _now() -> float:
    """After all that a GPU has been asked for."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def _paired(results: dict[str, Result], seed: int) -> dict[str, Any]:
    """kind -> ranking -> metric -> the best baseline, and each model's difference from it with its 95 % interval."""
    rivals = [name for name, result in results.items() if not result.record["ours"]]
    found: dict[str, Any] = {}
    if not rivals:
        return found
    for kind in (kind for kind in KINDS if f"{kind}.raw.mrr" in results[rivals[0]].per_query):
        for ranking in ("filtered", "raw"):
            keys = {metric: f"{kind}.{ranking}.{metric}" for metric in PAIRED}
            best = {m: max(rivals, key=lambda name: results[name].per_query[k].mean()) for m, k in keys.items()}
            differences: dict[str, dict[str, Any]] = {metric: {} for metric in PAIRED}
            for name, result in results.items():
                differ = {m: result.per_query[k].astype(float) - results[best[m]].per_query[k] for m, k in keys.items()}
                for metric, (low, high) in intervals(differ, seed).items():
                    differences[metric][name] = {"difference": float(differ[metric].mean()), "interval": [low, high]}
            found.setdefault(kind, {})[ranking] = {
                metric: {"best": best[metric], "differences": differences[metric]} for metric in PAIRED
            }
    return found
