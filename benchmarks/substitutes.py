"""How many of the ten best are known substitutes of what is asked about: without NOT, with it, and ruled out.

    .venv/bin/python benchmarks/substitutes.py DATASET MODEL [DATASET MODEL ...]

The items asked about are those of the test queries that have known substitutes (co-views of training), 1,000 at most.
A row of Markdown for each model: shares of the ten best, and the mean reciprocal rank of the held-out complements with
and without NOT, since what NOT pushes down may be bought too.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from logirec import query
from logirec.data.dataset import Dataset
from logirec.data.query_sets import Ragged
from logirec.evaluation.evaluate import mean_mrr, questions
from logirec.evaluation.ranks import Scores
from logirec.index.exact import ExactIndex
from logirec.model.reasoning import Meeting, Operand, embed_queries, looked_up
from logirec.query import Query, all_of, complement, substitute
from logirec.recommender.answers import Request
from logirec.recommender.recommender import Recommender
from logirec.relation import Relation

ASKED, TOP_K, BATCH = 1_000, 10, 32


def row(folder: Path, model: Path) -> str:
    dataset, recommender = Dataset.load(folder), Recommender.load(model)
    shelf = recommender.shelf
    low = questions(dataset, "test", "low")
    anchors = [a for a in np.unique(low.queries.members.values).tolist() if shelf.substitutes([a])]
    anchors = [anchors[at] for at in np.linspace(0, len(anchors) - 1, min(ASKED, len(anchors))).astype(int)]
    shares = [
        _share(recommender, anchors, negated=False, ruled_out=False),
        _share(recommender, anchors, negated=True, ruled_out=False),
        _share(recommender, anchors, negated=True, ruled_out=True),
    ]
    ranked = [mean_mrr(_scores(recommender, negated), low, dataset.items) for negated in (False, True)]
    cells = [f"{share:.1%}" for share in shares] + [f"{value:.3f}" for value in ranked]
    return f"| {folder.name} | {len(anchors):,} | " + " | ".join(cells) + " |"


def _share(recommender: Recommender, anchors: Sequence[int], negated: bool, ruled_out: bool) -> float:
    """Of all that is recommended, how much is viewed with what was asked about."""
    shelf, ids = recommender.shelf, recommender.shelf.vocabulary.item_ids
    found = shown = 0
    for first in range(0, len(anchors), BATCH):
        some = anchors[first : first + BATCH]
        asked = [Request((), TOP_K, _query(ids[a], negated), ruled_out, explain=False) for a in some]
        for anchor, answer in zip(some, recommender.recommend_many(asked), strict=True):
            alike = {ids[other] for other in shelf.substitutes([anchor])}
            found += sum(one.item_id in alike for one in answer.recommendations)
            shown += len(answer.recommendations)
    return found / max(1, shown)


def _query(item_id: str, negated: bool) -> Query:
    wanted = complement([item_id])
    return all_of([wanted, query.negated(substitute([item_id]))]) if negated else wanted


def _scores(recommender: Recommender, negated: bool) -> Scores:
    """Of all items, for queries of one item with or without the NOT."""
    model = recommender.shelf.model
    index = ExactIndex(model, coarse=False)

    def scores(baskets: Ragged) -> Tensor:
        asked: list[Meeting] = []
        for row in baskets.values.tolist():
            unlike = (Operand(Relation.CO_VIEW, (row,), negated=True),) if negated else ()
            asked.append((Operand(Relation.CO_PURCHASE, (row,)), *unlike))
        support = None
        if model.evidence is not None:
            support = model.evidence.of(*looked_up(asked, model.raw_items.device))
        return index.scores(embed_queries(model, asked), Relation.CO_PURCHASE, support)

    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DATASET MODEL")
    folders = parser.parse_args().folders
    print("| dataset | items asked about | without NOT | with NOT | ruled out | MRR without NOT | with NOT |")
    print("|---|---|---|---|---|---|---|")
    for dataset, model in zip(folders[::2], folders[1::2], strict=True):
        print(row(dataset, model), flush=True)


if __name__ == "__main__":
    main()
