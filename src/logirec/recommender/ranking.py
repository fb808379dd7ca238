"""The best items of a batch of requests, from one scan of the catalogue."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from logirec.index.scan import Scan
from logirec.model.reasoning import Meeting, Reasoning
from logirec.recommender.asking import Asked, Branch, without_operand
from logirec.recommender.shelf import Known, Shelf
from logirec.relation import Relation

SPARE = 32  # items scored beside the wanted ones: what is ruled out comes off these


class Ranked(NamedTuple):
    row: int
    branch: int  # the one that it is best in
    score: float
    confidence: float | None


class Ranking(NamedTuple):
    """Of one request."""

    best: list[Ranked]
    ruled_out: dict[int, int]  # known substitutes that would have been among the best -> the item they stand in for
    moved_out: list[tuple[int, str, bool]]  # what would have been among the best but for a NOT, which, known


class Line(NamedTuple):
    """One query of the scan."""

    asked: Asked
    branch: Branch
    meeting: Meeting
    dropped: int | None  # the operand that is left out, to see what it moved

    @property
    def relation(self) -> Relation:
        return self.branch.relation


class Rules:
    """What one request rules out."""

    def __init__(self, asked: Asked, shelf: Shelf) -> None:
        request = asked.request
        self.rows = {*asked.named, *shelf.rows(item_id for item_id in request.exclude if item_id in shelf.vocabulary)}
        self.hidden = shelf.substitutes(asked.apart) if request.without_substitutes else {}
        self.allowed = None if request.categories is None else shelf.in_categories(request.categories)

    def forbids(self, row: int, hiding: bool = True) -> bool:
        """`hiding`: with known substitutes."""
        outside = self.allowed is not None and row not in self.allowed
        return outside or row in self.rows or (hiding and row in self.hidden)

    def forbidden(self, shelf: Shelf, hiding: bool = True) -> Tensor:
        """(N,) the same for all rows at once."""
        found = torch.full((shelf.items,), self.allowed is not None)
        found[list(self.allowed or ())] = False
        found[[*self.rows, *(self.hidden if hiding else ())]] = True
        return found.to(shelf.device)


def rank(asked: Sequence[Asked], shelf: Shelf, reasoning: Reasoning) -> list[Ranking]:
    groups = [_lines(one) for one in asked]
    lines = [line for group in groups for line in group]
    depth = max(one.request.top_k for one in asked) + SPARE
    hunt = _Hunt(shelf, reasoning, lines, depth)
    found, at = [], 0
    for one, group in zip(asked, groups, strict=True):
        found.append(_ranking(one, hunt, range(at, at + len(group))))
        at += len(group)
    return found


class Standing(NamedTuple):
    score: float
    confidence: float | None


def standings(asked: Sequence[Asked], targets: Sequence[int], shelf: Shelf) -> list[Standing]:
    """How each request's first branch has one item, whatever is ruled out."""
    lines = [Line(one, one.branches[0], one.branches[0].meeting, None) for one in asked]
    meetings, relations = [line.meeting for line in lines], [line.relation for line in lines]
    reasoning = shelf.reason(meetings)
    hunt = _Hunt(shelf, reasoning, lines, SPARE)
    scores = shelf.scores_of(reasoning, meetings, relations, [[row] for row in targets])
    found = []
    for at, (row, score) in enumerate(zip(targets, scores, strict=True)):
        (confidence,) = hunt.confidences(at, [row], score)
        found.append(Standing(score[0], confidence))
    return found


def _lines(asked: Asked) -> list[Line]:
    """Each branch; and, where reasons are asked for, each without each of its NOTs."""
    lines = [Line(asked, branch, branch.meeting, None) for branch in asked.branches]
    if asked.request.explain:
        for branch in asked.branches:
            lines += [Line(asked, branch, without_operand(branch.meeting, at), at) for at in branch.negated]
    return lines


class _Hunt:
    """The lines of a batch with what the scan has found."""

    def __init__(self, shelf: Shelf, reasoning: Reasoning, lines: Sequence[Line], depth: int) -> None:
        self.shelf, self.reasoning, self.lines = shelf, reasoning, lines
        scan = shelf.scan(reasoning, [line.meeting for line in lines], [line.relation for line in lines], depth)
        self.rows, self.scores, self.floors = scan.rows.tolist(), scan.scores.tolist(), scan.floor.tolist()
        self.scan = scan
        self.known = [shelf.known(line.meeting) for line in lines]
        self.sure = [self._sure(line, known) for line, known in zip(lines, self.known, strict=True)]
        self.normalisers = self._normalisers(scan)

    def _sure(self, line: Line, known: Known) -> Known:
        """What links say, where validation did not have to guess it."""
        curve = self.shelf.curve(line.branch.basket)
        guessed = curve is not None and not curve.knows and line.relation == Relation.CO_PURCHASE
        return known._replace(right=set()) if guessed else known

    def _normalisers(self, scan: Scan) -> list[float]:
        """As on validation, what is named or known takes no probability from the rest."""
        temperatures, without = [], []
        for line, sure in zip(self.lines, self.sure, strict=True):
            curve = None if line.dropped is not None else self.shelf.curve(line.branch.basket)
            temperatures.append(0.0 if curve is None else curve.temperature)
            without.append([*line.asked.named, *sure.right, *sure.wrong])
        return scan.log_sums(temperatures, without)

    def best(self, line: int, rules: Rules, hiding: bool = True) -> list[tuple[int, float]]:
        """From what the scan has brought up; where too much of that is ruled out, from the whole catalogue."""
        found: list[tuple[int, float]] = []
        floor, request = self.floors[line], self.lines[line].asked.request
        top_k, wrong = request.top_k, self.known[line].wrong if hiding and request.without_substitutes else set()
        for row, score in zip(self.rows[line], self.scores[line], strict=True):
            if score <= floor:
                break
            if not rules.forbids(row, hiding) and row not in wrong:
                found.append((row, score))
                if len(found) == top_k:
                    return found
        if floor == -torch.inf:  # there are no others
            return found
        forbidden = rules.forbidden(self.shelf, hiding)
        forbidden[list(wrong)] = True
        best = self.scan.again(line, top_k, forbidden)
        pairs = zip(best.rows[0].tolist(), best.scores[0].tolist(), strict=True)
        return [(row, score) for row, score in pairs if row >= 0]

    def known_first(self, line: int, rules: Rules, best: list[tuple[int, float]]) -> list[tuple[int, float]]:
        """Of substitutes, those that are known and then the best: evidence puts known complements first, and there is
        none for substitutes."""
        own = self.lines[line]
        rows = [row for row in sorted(self.known[line].right) if not rules.forbids(row)]
        if own.relation != Relation.CO_VIEW or not rows:
            return best
        (scores,) = self.shelf.scores_of(self.reasoning, [own.meeting], [own.relation], [rows])
        known = sorted(zip(rows, scores, strict=True), key=lambda one: -one[1])
        return [*known, *(one for one in best if one[0] not in self.known[line].right)][: own.asked.request.top_k]

    def confidences(self, line: int, rows: Sequence[int], scores: Sequence[float]) -> Iterable[float | None]:
        """What links say is right, or what a NOT is about, is sure; of the rest, what validation taught."""
        curve = self.shelf.curve(self.lines[line].branch.basket)
        if curve is None:
            return [None] * len(rows)
        learnt = curve.confidence(np.array(scores), self.normalisers[line]).tolist()
        right, wrong = self.sure[line]
        said = [1.0 if row in right else 0.0 if row in wrong else None for row in rows]
        return [own if sure is None else sure for own, sure in zip(learnt, said, strict=True)]


def _ranking(asked: Asked, hunt: _Hunt, lines: range) -> Ranking:
    rules, plain = Rules(asked, hunt.shelf), lines[: len(asked.branches)]
    best = {line: hunt.best(line, rules) for line in plain}
    shown, ruled_out = _shown(asked, hunt, best, rules), _ruled_out(asked, hunt, plain, rules)
    gone = {one.row for one in shown} | ruled_out.keys()
    return Ranking(shown, ruled_out, _moved_out(hunt, lines[len(plain) :], best, rules, gone))


def _shown(asked: Asked, hunt: _Hunt, best: Mapping[int, list[tuple[int, float]]], rules: Rules) -> list[Ranked]:
    """Each item as the branch has it that is surest of it."""
    found: dict[int, Ranked] = {}
    for branch, (line, best_here) in enumerate(best.items()):
        picked = hunt.known_first(line, rules, best_here)
        rows, scores = [row for row, _ in picked], [score for _, score in picked]
        confidences = hunt.confidences(line, rows, scores)
        for ranked in map(Ranked, rows, [branch] * len(rows), scores, confidences):
            if ranked.row not in found or (ranked.confidence or 0) > (found[ranked.row].confidence or 0):
                found[ranked.row] = ranked
    if len(best) == 1:
        return [*found.values()]
    surest = sorted(found.values(), key=lambda one: (-(one.confidence or 0), -one.score, one.row))
    return surest[: asked.request.top_k]


def _ruled_out(asked: Asked, hunt: _Hunt, lines: range, rules: Rules) -> dict[int, int]:
    if not (asked.request.explain and rules.hidden):
        return {}
    shown = (row for line in lines for row, _ in hunt.best(line, rules, hiding=False))
    return {row: rules.hidden[row] for row in shown if row in rules.hidden}


def _moved_out(
    hunt: _Hunt, lines: range, best: Mapping[int, list[tuple[int, float]]], rules: Rules, gone: set[int]
) -> list[tuple[int, str, bool]]:
    """What each line without a NOT has among its best, and its branch has not, though others may be shown."""
    whole, seen, found = {hunt.lines[line].branch: line for line in best}, set(gone), []
    for line in lines:
        own = hunt.lines[line]
        assert own.dropped is not None  # noqa: S101  these lines are without an operand
        branch = whole[own.branch]
        kept, about = {row for row, _ in best[branch]}, hunt.known[branch].wrong
        for row, _ in hunt.best(line, rules):
            if row not in seen and row not in kept:
                seen.add(row)
                known = own.asked.request.without_substitutes and row in about
                found.append((row, own.branch.words[own.dropped], known))
    return found
