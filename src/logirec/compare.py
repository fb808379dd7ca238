"""Many models on one dataset under one protocol: fitted, tuned on validation, ranked on test.

Each model's result is written to the work folder (DATASET.compare) as soon as it is there, and is not made again.

WORK/NAME.json    figures, settings tried, cost
WORK/NAME.npz     metrics of each test query, for paired intervals
WORK/models/NAME  LogiRec's own model folders
"""

import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
import torch
from torch import Tensor

from logirec import __version__
from logirec.baselines.base import Unsuited
from logirec.baselines.registry import BASELINES, Entry
from logirec.contenders import LOGIREC, OURS, choose
from logirec.data.dataset import Dataset
from logirec.data.query_sets import KINDS, Kind, Ragged
from logirec.errors import InputError
from logirec.evaluation.asymmetry import degree_of_asymmetry
from logirec.evaluation.evaluate import Questions, link_popularity, mean_mrr, questions, report, standings
from logirec.evaluation.metrics import intervals, per_query
from logirec.evaluation.ranks import Scores
from logirec.evaluation.temperature import fitted_temperature
from logirec.fit import RunOptions, choose_device, train
from logirec.folders import MANIFEST, sha256, write_aside
from logirec.model.artifact import TrainedModel
from logirec.model.scorer import Scorer
from logirec.peak import peak_memory
from logirec.progress import Progress

PAIRED = ("mrr", "hit@3", "ndcg@3", "hit@10")  # metrics with paired intervals
VALIDATION_QUERIES = 1_000  # of each kind, on which settings are chosen


@dataclass(frozen=True)
class CompareOptions:
    models: tuple[str, ...] = ()  # none: all that this machine can train
    seed: int = 0
    max_queries: int = 5_000  # test queries of each kind, drawn once
    device: str = "auto"
    force: bool = False  # make results again that are there


def compare(
    dataset: Dataset,
    options: CompareOptions = CompareOptions(),  # noqa: B008  frozen
    progress: Progress = Progress(),  # noqa: B008  has no state
) -> dict[str, Any]:
    """models -> NAME -> low|high -> filtered|raw -> metrics, with costs; `left_out` says which could not and why."""
    device = choose_device(options.device).type
    names, left_out = choose(options.models, device)
    match = Match(dataset, options, device, progress)
    results: dict[str, dict[str, Any]] = {}
    for name in names:
        try:
            results[name] = match.result(name)
        except Unsuited as error:
            left_out[name] = str(error)
    if not results:
        raise InputError("; ".join(f"{name}: {why}" for name, why in left_out.items()))
    return {
        "dataset": _described(dataset),
        "seed": options.seed,
        "models": results,
        "left_out": left_out,
        "against_best_baseline": _paired(match, list(results), results, options.seed),
    }


def _described(dataset: Dataset) -> dict[str, Any]:
    manifest = dataset.manifest
    return {
        "name": dataset.folder.resolve().name,
        "protocol": dataset.protocol,
        "split_seed": manifest["seed"],
        "items": dataset.items,
        "source": manifest["source"].get("name", manifest["source"]["format"]),
        "sha256": sha256(dataset.folder / MANIFEST),
    }


class Match:
    """The dataset's queries, asked once, and the results on them."""

    def __init__(self, dataset: Dataset, options: CompareOptions, device: str, progress: Progress) -> None:
        self.dataset, self.options, self.device, self.progress = dataset, options, device, progress
        folder = dataset.folder.resolve()
        self.work = folder.with_name(f"{folder.name}.compare")
        with progress.task("reading queries"):
            self.valid = self._questions("valid", VALIDATION_QUERIES)
            self.test = self._questions("test", options.max_queries)
            self.popularity = link_popularity(dataset)
            self.dataset_sha256 = sha256(dataset.folder / MANIFEST)

    def _questions(self, stage: Any, most: int) -> dict[Kind, Questions]:
        asked = {kind: questions(self.dataset, stage, kind, most, self.options.seed) for kind in KINDS}
        return {kind: found for kind, found in asked.items() if len(found.queries)}

    def result(self, name: str) -> dict[str, Any]:
        path = self.work / f"{name}.json"
        key = self._key(name)
        if not self.options.force and (made := _made_before(path, key)):
            return made
        with peak_memory() as memory:
            record = self._try(name)
        record["memory_mb"] = memory.megabytes
        if self.device == "cuda":
            record["gpu_memory_mb"] = round(torch.cuda.max_memory_allocated() / 2**20, 1)
        self.work.mkdir(exist_ok=True)
        values = record.pop("per_query")
        aside = path.with_suffix(".part.npz")
        np.savez_compressed(aside, **values)
        aside.replace(path.with_suffix(".npz"))
        write_aside(path, text := json.dumps({"key": key, **record}, indent=1) + "\n")
        made = json.loads(text)  # the same value now and when it is read again
        del made["key"]
        return dict(made)

    def per_query(self, name: str) -> dict[str, np.ndarray]:
        with np.load(self.work / f"{name}.npz", allow_pickle=False) as values:
            return dict(values)

    def _key(self, name: str) -> str:
        """What the result hangs on."""
        if name in BASELINES:
            settings: Any = [BASELINES[name].where, BASELINES[name].tried]
        else:
            settings = LOGIREC[name][1](self.options.seed).model_dump()
        parts = [self.dataset_sha256, __version__, self.options.seed, self.options.max_queries, settings]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _try(self, name: str) -> dict[str, Any]:
        if self.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        if name in BASELINES:
            scores, pairwise, record = self._baseline(name, BASELINES[name])
        else:
            scores, pairwise, record = self._logirec(name)
        timed = _Timed(scores)
        per: dict[str, np.ndarray] = {}
        with self.progress.task(f"{name}: ranking"):
            for kind, asked in self.test.items():
                stand = standings(timed, asked, self.dataset.items)
                record[kind] = report(stand, asked, self.popularity, self.options.seed)
                for ranking, standing in (("filtered", stand.filtered), ("raw", stand.raw)):
                    values = per_query(standing, asked.queries.answers)
                    per |= {f"{kind}.{ranking}.{metric}": values[metric].astype(np.float32) for metric in PAIRED}
        with self.progress.task(f"{name}: asymmetry"):
            temperature = fitted_temperature(scores, self.valid["low"]) if "low" in self.valid else 1.0
            found = degree_of_asymmetry(lambda b: scores(b) * temperature, self.dataset.items, pairwise)
            record["asymmetry"] = {**found._asdict(), "temperature": temperature}
        record["scoring_ms_per_query"] = round(1000 * timed.seconds / max(1, timed.queries), 4)
        return {**record, "device": self.device, "per_query": per}

    def _baseline(self, name: str, entry: Entry) -> tuple[Scores, bool, dict[str, Any]]:
        tried: list[dict[str, Any]] = []
        best: Any = None
        with self.progress.task(f"{name}: fitting", len(entry.tried)) as task:
            for settings in entry.tried:
                started = time.perf_counter()
                model = entry.make(settings, self.device, self.options.seed).fit(self.dataset)
                record: dict[str, Any] = {"settings": dict(settings), "fit_seconds": time.perf_counter() - started}
                if len(entry.tried) > 1 and self.valid:
                    found = {f"valid_{kind}_mrr": self._valid_mrr(model.scores, kind) for kind in self.valid}
                    record |= {"valid_mrr": geometric_mean(found.values()), **found}
                if not tried or record["valid_mrr"] > max(other["valid_mrr"] for other in tried):
                    best = model, record
                tried.append(record)
                del model  # two at a time are enough
                task.advance(1)
        model, chosen = best
        return (
            model.scores,
            getattr(model, "pairwise", False),
            {
                "says": entry.says,
                "settings": chosen["settings"],
                "tried": tried,
                "fit_seconds": chosen["fit_seconds"],
                "tuning_seconds": sum(record["fit_seconds"] for record in tried),
            },
        )

    def _valid_mrr(self, scores: Scores, kind: Kind) -> float:
        # Never quite zero: the mean of both kinds is geometric.
        return max(mean_mrr(scores, self.valid[kind], self.dataset.items), 1e-9)

    def _logirec(self, name: str) -> tuple[Scores, bool, dict[str, Any]]:
        says, made_by = LOGIREC[name]
        chosen, out = made_by(self.options.seed), self.work / "models" / name
        out.parent.mkdir(parents=True, exist_ok=True)
        # An interrupted run is gone on with; a finished one of other settings is replaced.
        resume = (out.parent / f"{name}.training" / "run.json").exists() and not out.exists()
        run = RunOptions(self.device, resume=resume, force=not resume)
        metrics = train(self.dataset, out, chosen, run, self.progress)
        model = TrainedModel.load(out, torch.device(self.device)).model
        tried = {"settings": {}, "fit_seconds": metrics["seconds"], "valid_mrr": metrics["valid_mrr"]}
        return (
            Scorer(model).scores,
            False,
            {
                "says": says,
                "settings": {"steps": metrics["best_step"]},
                "tried": [tried],
                "fit_seconds": metrics["seconds"],
                "tuning_seconds": metrics["seconds"],
            },
        )


def _made_before(path: Path, key: str) -> dict[str, Any] | None:
    try:
        made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(made, dict) or made.pop("key", None) != key or not path.with_suffix(".npz").exists():
        return None
    return made


class _Timed:
    """Counts what scoring costs, apart from ranking."""

    def __init__(self, scores: Scores) -> None:
        self.scores, self.seconds, self.queries = scores, 0.0, 0

    def __call__(self, baskets: Ragged) -> Tensor:
        started = time.perf_counter()
        table = self.scores(baskets)
        if table.is_cuda:
            torch.cuda.synchronize()
        self.seconds += time.perf_counter() - started
        self.queries += len(baskets)
        return table


def _paired(match: Match, names: list[str], results: dict[str, Any], seed: int) -> dict[str, Any]:
    """kind -> ranking -> metric -> the best baseline, and each model's difference from it with its 95 % interval."""
    rivals = [name for name in names if not name.startswith(OURS)]
    if not rivals:
        return {}
    values = {name: match.per_query(name) for name in names}
    found: dict[str, Any] = {}
    for kind in match.test:
        for ranking in ("filtered", "raw"):
            best = {m: max(rivals, key=lambda n: float(results[n][kind][ranking][m])) for m in PAIRED}
            by_model: dict[str, dict[str, Any]] = {metric: {} for metric in PAIRED}
            for name in names:
                keys = {metric: f"{kind}.{ranking}.{metric}" for metric in PAIRED}
                differ = {m: values[name][k].astype(float) - values[best[m]][k] for m, k in keys.items()}
                for metric, (low, high) in intervals(differ, seed).items():
                    by_model[metric][name] = {"difference": float(differ[metric].mean()), "interval": [low, high]}
            found.setdefault(kind, {})[ranking] = {
                metric: {"best": best[metric], "differences": by_model[metric]} for metric in PAIRED
            }
    return found
