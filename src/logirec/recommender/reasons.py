"""Why something is recommended, and what was left out: measured by asking again without each part."""

from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from logirec.index.exact import best_of
from logirec.model.reasoning import attention
from logirec.query import Linked
from logirec.recommender.answers import Because, Contribution, Negation, Removed
from logirec.recommender.asking import Asked, Branch, without_item, without_operand
from logirec.recommender.shelf import Shelf
from logirec.relation import Relation


class Ranked(NamedTuple):
    row: int
    branch: int  # the one that it is best in
    score: float
    confidence: float | None


def reasons(shelf: Shelf, asked: Asked, ranked: Sequence[Ranked]) -> dict[int, Because]:
    """By row. Each other query is asked once for all recommendations of a branch."""
    found: dict[int, Because] = {}
    for at, branch in enumerate(asked.branches):
        mine = [one for one in ranked if one.branch == at]
        if mine:
            found |= _of_branch(shelf, branch, mine)
    return found


def _of_branch(shelf: Shelf, branch: Branch, mine: Sequence[Ranked]) -> dict[int, Because]:
    members = branch.basket if len(branch.basket) > 1 else ()  # without the only one, nothing would be asked
    negated = [at for at, operand in enumerate(branch.meeting) if operand.negated]
    others = [without_item(branch.meeting, member) for member in members]
    others += [without_operand(branch.meeting, at) for at in negated]
    rows = [one.row for one in mine]
    again = shelf.scores_of(others, branch.relation, rows).T.tolist() if others else [[]] * len(mine)
    looked = attention(shelf.model, branch.basket).tolist() if members else [1.0]
    found = {}
    for one, scores in zip(mine, again, strict=True):
        changes = [one.score - score for score in scores]
        losses: list[float | None] = list(changes[: len(members)]) or [None]
        words = (branch.words[at] for at in negated)
        negations = tuple(Negation(*pair) for pair in zip(words, changes[len(members) :], strict=True))
        found[one.row] = Because(_contributions(shelf, branch.basket, one.row, losses, looked), negations)
    return found


def _contributions(
    shelf: Shelf, basket: Sequence[int], row: int, losses: Sequence[float | None], looked: Sequence[float]
) -> tuple[Contribution, ...]:
    found = []
    for member, share, loss, attended in zip(basket, shares(losses, looked), losses, looked, strict=True):
        item = shelf.catalogue.item(member)
        found.append(Contribution(item.item_id, item.title, share, loss, attended, shelf.bought.has(member, row)))
    return tuple(found)


def shares(losses: Sequence[float | None], looked: Sequence[float]) -> list[float]:
    """By what is lost without each; where nothing is lost, by attention."""
    gains = [max(0.0, loss or 0.0) for loss in losses]
    total = sum(gains)
    return [gain / total for gain in gains] if total > 0 else list(looked)


def removed(
    shelf: Shelf, asked: Asked, scores: Sequence[Tensor], banned: Tensor, ranked: Sequence[Ranked]
) -> tuple[Removed, ...]:
    """What would have been among the best: known substitutes that were ruled out, and what the NOTs moved down.

    `scores` are those of the branches, `banned` is what could not be recommended whatever the NOTs say.
    """
    top_k, substitutes = asked.request.top_k, shelf.substitutes(asked.basket)
    shown = {one.row for one in ranked}
    found: dict[int, Removed] = {}
    banned = banned.clone()
    if asked.request.without_substitutes:
        for table in scores:
            for row in best_of(table[None].clone(), top_k, banned).rows[0].tolist():
                if row in substitutes and row not in shown:
                    of = Linked(Relation.CO_VIEW, (shelf.vocabulary.item_ids[substitutes[row]],))
                    found[row] = _removed(shelf, row, f"~{of}", known=True)
        banned[list(substitutes)] = True
    for branch in asked.branches:
        for at in (at for at, operand in enumerate(branch.meeting) if operand.negated):
            table = shelf.scores([without_operand(branch.meeting, at)], [branch.relation])
            for row in best_of(table, top_k, banned).rows[0].tolist():
                if row >= 0 and row not in shown and row not in found:
                    found[row] = _removed(shelf, row, branch.words[at], known=False)
    return tuple(found.values())


def _removed(shelf: Shelf, row: int, by: str, known: bool) -> Removed:
    item = shelf.catalogue.item(row)
    return Removed(item.item_id, item.title, by, known)
