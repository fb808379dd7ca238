"""Model folder and dataset folder -> figures."""

from pathlib import Path
from typing import Any

from logirec.data.dataset import Dataset
from logirec.data.query_sets import STAGES, Stage
from logirec.errors import InputError, UsageError
from logirec.evaluation.asymmetry import asymmetry as degree
from logirec.evaluation.evaluate import evaluate, questions
from logirec.fit import choose_device
from logirec.folders import MANIFEST, sha256
from logirec.index.scorer import Scorer
from logirec.model.artifact import TrainedModel
from logirec.progress import Progress


def judge(
    model: Path,
    dataset: Path,
    stage: str = "test",
    max_queries: int | None = None,
    device: str = "auto",
    asymmetry: bool = False,
    progress: Progress = Progress(),  # noqa: B008  has no state
) -> dict[str, Any]:
    if stage not in ("test", "valid"):
        raise UsageError(f"--stage {stage}: not one of test, valid")
    with progress.task("loading"):
        trained = TrainedModel.load(model, choose_device(device))
        data = Dataset.load(dataset)
    if trained.vocabulary.item_ids != data.vocabulary.item_ids:
        raise InputError(f"{dataset}: its items are not those that {model} was trained on")
    told_until = trained.recipe.training.refit
    if STAGES.index(told_until) >= STAGES.index(stage):
        told = "all links" if told_until == "test" else "validation's links"
        raise InputError(f"{model} was told {told} (training.refit): {stage} says nothing of it; see its metrics.json")
    scorer = Scorer(trained.model)
    with progress.task("ranking"):
        report = evaluate(scorer.scores, data, "valid" if stage == "valid" else "test", max_queries)
    # The same items split another way: what is test there may have been learnt here.
    report["trained_on_this_dataset"] = trained.dataset_sha256 == sha256(data.folder / MANIFEST)
    if asymmetry:
        with progress.task("asymmetry"):
            unseen: Stage = "valid" if told_until == "train" else "test"
            report["asymmetry"] = degree(scorer.scores, data.items, questions(data, unseen, "low"))
    return report
