"""Any logical query as one Beta embedding: projections of items, negated where asked, intersected.

    complement(A & B) & ~substitute(A)   ->   intersection( project_cp({A, B}), negation(project_cv(A)) )

A batch of queries goes through the networks together, and what several of them need is made once: an item is moved
once for all sets that hold it, and how much attention an operand asks for depends on nothing but itself.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from logirec.logic.beta import Beta, within_range
from logirec.logic.operators import Move, negation
from logirec.model.logirec import LogiRec
from logirec.relation import Relation

BUY, VIEW = Relation.CO_PURCHASE, Relation.CO_VIEW


class Operand(NamedTuple):
    """What is linked from a set of items along a relation, or is not."""

    relation: Relation
    rows: tuple[int, ...]  # ascending, none twice
    negated: bool = False


Meeting = tuple[Operand, ...]  # all of these at once


class Reasoning:
    """Queries that have gone through the networks."""

    @torch.no_grad()
    def __init__(self, model: LogiRec, queries: Iterable[Meeting]) -> None:
        self.model, self.device = model, model.raw_items.device
        self.places = {query: at for at, query in enumerate(dict.fromkeys(queries))}
        wanted = {(operand.relation, operand.rows) for query in self.places for operand in query}
        # How much attention each operand has in its query, and each item in its set.
        self.between: dict[Meeting, list[float]] = {}
        self.within: dict[tuple[Relation, tuple[int, ...]], list[float]] = {}
        self.embedding = self._met(*self._operands(wanted))

    def of(self, queries: Sequence[Meeting]) -> Beta:
        """(B, D)."""
        at = self._rows([self.places[query] for query in queries])
        return Beta(*(part[at] for part in self.embedding))

    def attention(self, query: Meeting, rows: Sequence[int]) -> list[float]:
        """How much of what a query wants each of its items is; sums to 1."""
        found = dict.fromkeys(rows, 0.0)
        for operand, share in zip(query, self.between.get(query, [1.0]), strict=True):
            if not operand.negated:
                for row, own in zip(operand.rows, self.within.get(operand[:2], [1.0]), strict=True):
                    found[row] += share * own
        total = sum(found.values())
        return [share / total for share in found.values()]

    def _operands(
        self, wanted: set[tuple[Relation, tuple[int, ...]]]
    ) -> tuple[dict[tuple[Relation, tuple[int, ...]], int], Beta]:
        """Each set moved along its relation: where it lies, and the embeddings."""
        model = self.model
        items = sorted({row for _, rows in wanted for row in rows})
        sets, several = (sorted(rows for own, rows in wanted if own == each and len(rows) > 1) for each in (BUY, VIEW))
        place = {row: at for at, row in enumerate(items)}
        anchors = model.anchor(self._rows(items))
        bought = [row for row in items if (BUY, (row,)) in wanted]
        if model.config.sets != "summary":
            bought = sorted({*bought, *(row for rows in sets for row in rows)})
        viewed = sorted({row for relation, rows in wanted if relation == VIEW for row in rows})
        from_sets, inside = self._summaries(anchors, [tuple(place[row] for row in rows) for rows in sets])
        moved = model.project(
            [
                Move(_cat(_take(anchors, self._rows([place[row] for row in bought])), from_sets), (BUY,)),
                Move(_take(anchors, self._rows([place[row] for row in viewed])), (VIEW,)),
            ]
        )
        (by_buying,), (by_viewing,) = moved
        at = {row: n for n, row in enumerate(bought)}
        together = self._sets(by_buying, at, sets, inside)
        at = {row: n for n, row in enumerate(viewed)}
        unlike, looked = self._intersected(by_viewing, [tuple(at[row] for row in rows) for rows in several])
        self._keep(self.within, [(VIEW, rows) for rows in several], several, looked)
        alone = Beta(*(part[: len(bought)] for part in by_buying))
        keys = [
            *((BUY, (row,)) for row in bought),
            *((BUY, rows) for rows in sets),
            *((VIEW, (row,)) for row in viewed),
            *((VIEW, rows) for rows in several),
        ]
        return {key: n for n, key in enumerate(keys)}, _cat(alone, together, by_viewing, unlike)

    def _summaries(self, anchors: Beta, sets: list[tuple[int, ...]]) -> tuple[Beta, Tensor]:
        """Each set as one embedding, where the model moves that, and the attention within the sets."""
        if self.model.config.sets == "members":
            return _take(anchors, self._rows([])), torch.empty(0)
        return self._intersected(anchors, sets)

    def _sets(self, moved: Beta, at: dict[int, int], sets: list[tuple[int, ...]], inside: Tensor) -> Beta:
        """What the moved members and summaries of each set come to; `moved` ends with the summaries."""
        if not sets:
            return _take(moved, self._rows([]))
        way, first = self.model.config.sets, len(moved.alpha) - len(sets)
        if way == "summary":
            looked, result = inside, Beta(*(part[first:] for part in moved))
        elif way == "members":
            result, looked = self._intersected(moved, [tuple(at[row] for row in rows) for rows in sets])
        else:
            operands = [(first + n, *(at[row] for row in rows)) for n, rows in enumerate(sets)]
            result, weights = self._intersected(moved, operands)
            looked = weights[:, :1] * inside + weights[:, 1:]
        self._keep(self.within, [(BUY, rows) for rows in sets], sets, looked)
        return result

    def _keep(self, kept: dict[Any, list[float]], keys: Sequence[Any], lists: Sequence[Any], looked: Tensor) -> None:
        """Of each list its own attention, without what it was filled up with."""
        kept |= {key: own[: len(some)] for key, some, own in zip(keys, lists, looked.tolist(), strict=True)}

    def _intersected(self, table: Beta, lists: list[tuple[int, ...]]) -> tuple[Beta, Tensor]:
        """Of some rows of a table each, and the mean attention to each (S, M)."""
        if not lists:
            return _take(table, self._rows([])), torch.empty(0)
        rows, present = padded(lists, self.device)
        weights = self.model.intersect.shares(self.model.intersect.logits(table)[rows], present)
        return self._clamped(weights, _take(table, rows)), weights.mean(-1)

    def _clamped(self, weights: Tensor, operands: Beta) -> Beta:
        """Weights that sum to 1.0000001 must not leave the range."""
        return Beta(*(within_range((weights * part).sum(1)) for part in operands))

    def _met(self, places: dict[tuple[Relation, tuple[int, ...]], int], operands: Beta) -> Beta:
        """(Q, D) each query, from its operands."""
        count = len(operands.alpha)
        table = _cat(operands, negation(operands))

        def at(operand: Operand) -> int:
            return places[operand.relation, operand.rows] + count * operand.negated

        result = Beta(*(part.new_empty(len(self.places), part.shape[1]) for part in operands))
        single = [query for query in self.places if len(query) == 1]
        several = [query for query in self.places if len(query) > 1]
        whole = _take(table, self._rows([at(query[0]) for query in single]))
        needed = sorted({at(operand) for query in several for operand in query})
        place = {n: nth for nth, n in enumerate(needed)}
        met, looked = self._intersected(
            _take(table, self._rows(needed)), [tuple(place[at(operand)] for operand in query) for query in several]
        )
        self._keep(self.between, several, several, looked)
        for queries, found in ((single, whole), (several, met)):
            mine = self._rows([self.places[query] for query in queries])
            for part, own in zip(result, found, strict=True):
                part[mine] = own
        return result

    def _rows(self, rows: Sequence[int]) -> Tensor:
        return torch.tensor(rows, dtype=torch.int64, device=self.device)


def looked_up(queries: Sequence[Meeting], device: torch.device) -> tuple[Tensor, Tensor, Tensor | None]:
    """What evidence is looked up for: items whose complements are wanted (B, M), which places hold one, and which of
    them are items whose substitutes are not wanted, if any are."""
    wanted = [sorted(named(query, BUY, negated=False)) for query in queries]
    apart = [named(query, VIEW, negated=True) for query in queries]
    members, present = padded(wanted, device)
    if not any(apart):
        return members, present, None
    unlike = [[int(row in out) for row in rows] for rows, out in zip(wanted, apart, strict=True)]
    return members, present, padded(unlike, device)[0] > 0


def named(query: Meeting, relation: Relation, negated: bool) -> set[int]:
    return {row for o in query if o.relation == relation and o.negated == negated for row in o.rows}


def padded(lists: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """(B, M) rows filled up with zeros, and which places hold one."""
    size = max(1, *map(len, lists))
    members = torch.tensor([[*rows, *[0] * (size - len(rows))] for rows in lists], device=device)
    present = torch.tensor([[True] * len(rows) + [False] * (size - len(rows)) for rows in lists], device=device)
    return members, present


def _take(embeddings: Beta, rows: Tensor) -> Beta:
    return Beta(*(part[rows] for part in embeddings))


def _cat(*embeddings: Beta) -> Beta:
    return Beta(*map(torch.cat, zip(*embeddings, strict=True)))
