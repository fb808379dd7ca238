"""What each part of the evidence is worth: makes the last table of docs/ablation.md.

    .venv/bin/python benchmarks/ablation_evidence.py --work /tmp/leaderboard

Needs the prepared datasets of benchmarks/leaderboard.py in WORK. Trains preset `default` on each, leaves the model as
it is and makes its evidence again without each part: weights are fitted and chosen anew on validation every time, test
is ranked as on the leaderboard. What is finished (WORK/NAME.parts.json) is not made again.
"""

import argparse
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from scipy import sparse

from ablation import OF_EVIDENCE as RECORD
from ablation import ROW_OF_ALL, TEST_QUERIES, TITLES
from logirec import fit
from logirec.config import recipe
from logirec.data.dataset import Dataset
from logirec.data.query_sets import KINDS
from logirec.evaluation.evaluate import questions, standings
from logirec.evaluation.metrics import intervals, per_query
from logirec.evidence import gathering
from logirec.evidence.tables import Tables, best_ease, tables_of
from logirec.evidence.weighing import FORMS
from logirec.index.scorer import Scorer
from logirec.progress import for_terminal


class Part(NamedTuple):
    """What is left out: tables, or something of how they are made and weighed."""

    tables: tuple[str, ...] = ()
    only: str | None = None  # the one table that stays
    replaced: tuple[tuple[str, Any], ...] = ()  # under logirec.evidence
    remade: bool = False  # the tables themselves are others


PARTS = {
    "regression, both ways": Part(("regression", "regression backwards")),
    "regression backwards": Part(("regression backwards",)),
    "EASE": Part(("ease",)),
    "row cosine": Part(("row cosine",)),
    "what those viewed with it are bought with": Part(("past views",)),
    "shared neighbours": Part(("shared neighbours",)),
    "links the other way": Part(("sold",)),
    "views": Part(("viewed",)),
    "known links": Part(("bought",)),
    "everything but EASE": Part(only="ease"),
    "logarithms": Part(
        replaced=(("gathering.FORMS", {name: form for name, form in FORMS.items() if form.curves == 1}),)
    ),
    "weights near the usual ones": Part(replaced=(("gathering._usual", lambda kind, tables: None),)),
    "a set's known links speaking alone": Part(
        replaced=(("sources.said", lambda place, tables, of_sets: [place.values(one) for one in tables.values()]),)
    ),
    "words in the regression": Part(
        replaced=(("regression.bags", lambda dataset: sparse.csr_array((dataset.items, 1), dtype=np.float32)),),
        remade=True,
    ),
    "how strong links are": Part(replaced=(("tables._in_order", lambda dataset: False),), remade=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of the prepared datasets and results")
    parser.add_argument("--datasets", nargs="*", choices=TITLES, default=list(TITLES))
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    for name in arguments.datasets:
        out = arguments.work / f"{name}.parts.json"
        if not out.exists():
            run(arguments.work / name, out, arguments.device)
        record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        RECORD.write_text(json.dumps(record | {name: json.loads(out.read_text())}, indent=1) + "\n")
    print(f"wrote {RECORD}; benchmarks/ablation.py --only makes the page")


def run(folder: Path, out: Path, device: str) -> None:
    """row -> kind -> MRR on test, and the interval of its difference from that with all evidence."""
    dataset, progress, values = Dataset.load(folder), for_terminal(quiet=False), {}
    test = {kind: questions(dataset, "test", kind, TEST_QUERIES) for kind in KINDS}

    def ranked(model: Any, evidence: Any) -> dict[str, np.ndarray]:
        scores = Scorer(model, evidence).scores
        found = {kind: standings(scores, asked, dataset.items).filtered for kind, asked in test.items()}
        return {kind: per_query(found[kind], test[kind].queries.answers)["mrr"] for kind in KINDS}

    def gathered(model: Any, learnt: Dataset, *given: Any) -> Any:
        """Called when the model is trained: its evidence with each part left out, then as it is."""
        values["all evidence"] = ranked(model, None)
        how = best_ease(learnt, given[0], model.raw_items.device.type)
        made = how, tables_of(learnt, how)
        with progress.task("without each part", len(PARTS)) as task:
            for name, part in PARTS.items():
                with _without(part, made):
                    values[name] = ranked(model, gathering.gathered(model, learnt, *given).evidence)
                task.advance(1)
        whole = gathering.gathered(model, learnt, *given)
        values[ROW_OF_ALL] = ranked(model, whole.evidence)
        return whole

    with patch.object(fit, "gathered_evidence", gathered):
        model = out.with_suffix("")
        fit.train(dataset, model, recipe("default"), fit.RunOptions(device, force=True), progress)
    out.write_text(
        json.dumps({name: _figures(found, values[ROW_OF_ALL]) for name, found in values.items()}, indent=1) + "\n"
    )


@contextmanager
def _without(part: Part, made: tuple[Any, dict[Any, Tables]]) -> Iterator[None]:
    how, tables = made

    def left(*_: Any) -> dict[Any, Tables]:
        gone = part.tables if part.only is None else [name for name in tables["low"] if name != part.only]
        return {kind: {name: one for name, one in some.items() if name not in gone} for kind, some in tables.items()}

    with ExitStack() as stack:
        for name, value in part.replaced:
            stack.enter_context(patch(f"logirec.evidence.{name}", value))
        if not part.remade:
            stack.enter_context(patch("logirec.evidence.gathering.best_ease", lambda *_: how))
            stack.enter_context(patch("logirec.evidence.sources.tables_of", left))
        yield


def _figures(found: dict[str, np.ndarray], whole: dict[str, np.ndarray]) -> dict[str, Any]:
    return {f"{kind}.mrr": float(found[kind].mean()) for kind in KINDS} | {
        f"{kind}.from": list(intervals({"": found[kind] - whole[kind]})[""]) for kind in KINDS
    }


if __name__ == "__main__":
    main()
