"""Why something is recommended, and what was left out: measured by asking again without each part."""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from logirec.model.reasoning import Reasoning, named
from logirec.query import Linked
from logirec.recommender.answers import Because, Contribution, Negation, Removed
from logirec.recommender.asking import Asked, Branch
from logirec.recommender.ranking import Ranked, Ranking
from logirec.recommender.shelf import Shelf
from logirec.relation import Relation


class _Case(NamedTuple):
    """The recommendations of one branch."""

    branch: Branch
    mine: list[Ranked]


def reasons(
    shelf: Shelf, reasoning: Reasoning, asked: Sequence[Asked], rankings: Sequence[Ranking]
) -> list[dict[int, Because]]:
    """Of each request, by row."""
    cases = [_cases(one, ranking) for one, ranking in zip(asked, rankings, strict=True)]
    flat = [case for some in cases for case in some]
    each = [(case, meeting) for case in flat for meeting in case.branch.probes.flat]
    measured = shelf.heights_of(
        reasoning,
        [meeting for _, meeting in each],
        [case.branch.relation for case, _ in each],
        [[one.row for one in case.mine] for case, _ in each],
        [_several(case.branch) for case, _ in each],
        _firsts([len(case.branch.probes.flat) for case in flat]),
    )
    heights, counted = iter(measured.whole), iter(measured.evidence)
    found = []
    for some in cases:
        because: dict[int, Because] = {}
        for case in some:
            probes, looked = case.branch.probes, reasoning.attention(case.branch.meeting, case.branch.basket)
            of_evidence = probes.read([next(counted) for _ in probes.flat]).whole
            because |= _because(shelf, case, [next(heights) for _ in probes.flat], of_evidence, looked)
        found.append(because)
    return found


def _firsts(lengths: Sequence[int]) -> list[int]:
    """For each place of lists that stand one after the other, where its list begins."""
    starts = accumulate(lengths, initial=0)
    return [start for start, length in zip(starts, lengths, strict=False) for _ in range(length)]


def _several(branch: Branch) -> bool:
    """Whether evidence is heard for more than one item."""
    return len(named(branch.meeting, Relation.CO_PURCHASE, negated=False)) > 1


def _cases(asked: Asked, ranking: Ranking) -> list[_Case]:
    cases = []
    for at, branch in enumerate(asked.branches):
        mine = [one for one in ranking.best if one.branch == at]
        if mine and asked.request.explain:
            cases.append(_Case(branch, mine))
    return cases


def _because(
    shelf: Shelf,
    case: _Case,
    heights: Sequence[Sequence[float]],
    counted: Sequence[float],
    looked: Sequence[float],
) -> dict[int, Because]:
    """`heights`: by probe, of the case's recommendations; `counted`: what of the whole's is evidence."""
    branch, found = case.branch, {}
    items = [shelf.catalogue.item(row) for row in branch.basket]
    bought = [set(shelf.bought.of(row)) for row in branch.basket]
    words = [branch.words[n] for n in branch.negated]
    for at, one in enumerate(case.mine):
        whole, without, alone, unnegated = branch.probes.read([of_probe[at] for of_probe in heights])
        losses = [whole - left for left in without]
        changes: Sequence[float | None] = losses or [None]
        parts = shares(losses, alone, looked) if losses else [1.0]
        contributions = tuple(
            Contribution(item.item_id, item.title, share, change, attended, one.row in links)
            for item, share, change, attended, links in zip(items, parts, changes, looked, bought, strict=True)
        )
        nots = tuple(Negation(word, whole - left) for word, left in zip(words, unnegated, strict=True))
        found[one.row] = Because(contributions, nots, whole - counted[at], counted[at])
    return found


def shares(losses: Sequence[float], alone: Sequence[float], looked: Sequence[float]) -> list[float]:
    """By the mean of what is lost without each and what each brings alone; where all bring nothing, by attention.

    Of two items these are their Shapley values: they add up to how high the recommendation stands.
    """
    gains = [max(0.0, (loss + own) / 2) for loss, own in zip(losses, alone, strict=True)]
    total = sum(gains)
    return [gain / total for gain in gains] if total > 0 else list(looked)


def removed(shelf: Shelf, ranking: Ranking) -> tuple[Removed, ...]:
    """What would have been among the best: known substitutes that were ruled out, and what the NOTs moved down."""
    found = []
    for row, instead_of in ranking.ruled_out.items():
        of = Linked(Relation.CO_VIEW, (shelf.vocabulary.item_ids[instead_of],))
        found.append(_removed(shelf, row, f"~{of}", known=True))
    return (*found, *(_removed(shelf, *moved) for moved in ranking.moved_out))


def _removed(shelf: Shelf, row: int, by: str, known: bool) -> Removed:
    item = shelf.catalogue.item(row)
    return Removed(item.item_id, item.title, by, known)
