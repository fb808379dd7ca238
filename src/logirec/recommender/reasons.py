"""Why something is recommended, and what was left out: measured by asking again without each part."""

from collections.abc import Sequence
from typing import NamedTuple

from logirec.model.reasoning import Meeting
from logirec.query import Linked
from logirec.recommender.answers import Because, Contribution, Negation, Removed
from logirec.recommender.asking import Asked, Branch, only_item, without_item, without_operand
from logirec.recommender.ranking import Ranked, Ranking
from logirec.recommender.shelf import Shelf
from logirec.relation import Relation


class _Case(NamedTuple):
    """The recommendations of one branch, and the queries that are asked for them again."""

    branch: Branch
    mine: list[Ranked]
    members: tuple[int, ...]  # that are left out in turn
    negated: list[int]  # operands that are

    @property
    def again(self) -> list[Meeting]:
        """The whole, without each member, with each member alone, without each NOT."""
        meeting = self.branch.meeting
        without, alone = ([change(meeting, m) for m in self.members] for change in (without_item, only_item))
        return [meeting, *without, *alone, *(without_operand(meeting, at) for at in self.negated)]


def reasons(shelf: Shelf, asked: Sequence[Asked], rankings: Sequence[Ranking]) -> list[dict[int, Because]]:
    """Of each request, by row. All other queries of a batch go through the network together."""
    cases = [_cases(one, ranking) for one, ranking in zip(asked, rankings, strict=True)]
    flat = [case for some in cases for case in some]
    heights = shelf.heights_of(
        [(meeting, case.branch.relation) for case in flat for meeting in case.again],
        [[one.row for one in case.mine] for case in flat for _ in case.again],
    )
    parts = zip(heights.whole, heights.evidence, strict=True)
    looked = iter(shelf.attention([case.branch.basket for case in flat]))
    found = []
    for some in cases:
        because: dict[int, Because] = {}
        for case in some:
            whole, counted = zip(*(next(parts) for _ in case.again), strict=True)
            because |= _because(shelf, case, whole, counted[0], next(looked))
        found.append(because)
    return found


def _cases(asked: Asked, ranking: Ranking) -> list[_Case]:
    cases = []
    for at, branch in enumerate(asked.branches):
        mine = [one for one in ranking.best if one.branch == at]
        if mine and asked.request.explain:
            members = branch.basket if len(branch.basket) > 1 else ()  # without the only one, nothing would be asked
            cases.append(
                _Case(branch, mine, members, [n for n, operand in enumerate(branch.meeting) if operand.negated])
            )
    return cases


def _because(
    shelf: Shelf,
    case: _Case,
    heights: Sequence[Sequence[float]],
    counted: Sequence[float],
    looked: Sequence[float],
) -> dict[int, Because]:
    """`heights`: by query, of the case's recommendations; `counted`: what of the first is evidence."""
    found = {}
    count = len(case.members)
    for at, one in enumerate(case.mine):
        whole, *others = (height[at] for height in heights)
        losses = [whole - without for without in others[:count]]
        words = (case.branch.words[n] for n in case.negated)
        negations = zip(words, (whole - without for without in others[2 * count :]), strict=True)
        parts = _contributions(shelf, case.branch.basket, one.row, losses, others[count : 2 * count], looked)
        evidence = counted[at]
        found[one.row] = Because(parts, tuple(Negation(*pair) for pair in negations), whole - evidence, evidence)
    return found


def _contributions(
    shelf: Shelf,
    basket: Sequence[int],
    row: int,
    losses: Sequence[float],
    alone: Sequence[float],
    looked: Sequence[float],
) -> tuple[Contribution, ...]:
    found = []
    parts = shares(losses, alone, looked) if losses else [1.0]
    changes: Sequence[float | None] = losses or [None]
    for member, share, loss, attended in zip(basket, parts, changes, looked, strict=True):
        item = shelf.catalogue.item(member)
        found.append(Contribution(item.item_id, item.title, share, loss, attended, shelf.bought.has(member, row)))
    return tuple(found)


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
    return (*found, *(_removed(shelf, row, by, known=False) for row, by in ranking.moved_out))


def _removed(shelf: Shelf, row: int, by: str, known: bool) -> Removed:
    item = shelf.catalogue.item(row)
    return Removed(item.item_id, item.title, by, known)
