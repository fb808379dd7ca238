"""The weights that make the answers of queries likely, taken together, among all that could be shown.

Near what they are believed to be before: a shop with few queries says little of many weights.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

BINS = 256  # the scores of what has no evidence are counted in so many steps
STEPS = 60
CLOSE_ENOUGH = 1e-6  # less than this does not change a ranking
# So many queries' worth of belief that a weight is what it usually is (usual.py), or small where that is not known.
FIRM, LOOSE = 16.0, 1.0
SIZES = (1, 2, 3, 4, 8, 16)  # of baskets, up to each
USUAL_SCALE = float(np.log(0.3))  # of the model's own scores, as a logarithm
LEAST_SCALE = 0.05  # of the model's own scores, however little they say: amounts are given beside them
FAR = np.float32(-1e9)  # the score of what cannot be shown


class Belief(NamedTuple):
    """What weights are taken to be before a query has spoken, and how many queries it takes to change that."""

    weights: np.ndarray  # (F,)
    firm: np.ndarray  # (F,)

    @classmethod
    def usual(cls, weights: np.ndarray) -> "Belief":
        return cls(weights.ravel(), np.full(weights.size, FIRM))

    @classmethod
    def small(cls, count: int, firm: float = LOOSE) -> "Belief":
        return cls(np.zeros(count), np.full(count, firm))

    def then(self, others: "Belief") -> "Belief":
        return Belief(*(np.concatenate(both) for both in zip(self, others, strict=True)))


class Entries(NamedTuple):
    """Of each query one after the other: what has evidence, and the answers. The rest is counted, see `counted`."""

    counts: np.ndarray  # (B,) how much each query counts, of any unit
    lengths: np.ndarray  # (B,) entries of each query
    group: np.ndarray  # (B,) of baskets of about that size
    rest: np.ndarray  # (B, BINS)
    many: np.ndarray  # (B, BINS)
    own: np.ndarray  # (S,) the model's scores
    wanted: np.ndarray  # (S,) whether it is an answer
    features: np.ndarray  # (S, F)

    def of(self, queries: np.ndarray) -> "Entries":
        kept = np.zeros(len(self.lengths), dtype=bool)
        kept[queries] = True
        inside = np.repeat(kept, self.lengths)
        return Entries(*(part[kept] for part in self[:5]), *(part[inside] for part in self[5:]))

    def with_columns(self, columns: list[int]) -> "Entries":
        everything = len(columns) == self.features.shape[1]
        return self if everything else self._replace(features=np.ascontiguousarray(self.features[:, columns]))


def counted(own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Many scores (B, N), of which only the sum of what they weigh matters, as (B, BINS) two times: the mean score of
    those that were counted together, and the logarithm of how many. What is no more than FAR is not counted."""
    there = own > FAR
    low = np.where(there, own, np.inf).min(1, keepdims=True)
    low[~np.isfinite(low)] = 0
    wide = np.maximum(own.max(1, keepdims=True) - low, 1e-6)
    place = np.clip(np.rint((own - low) / wide * (BINS - 1)), 0, BINS - 1).astype(np.int64)
    place += np.arange(len(own))[:, None] * BINS
    shape, places = (len(own), BINS), place[there]
    count = np.bincount(places, minlength=len(own) * BINS).reshape(shape)
    sums = np.bincount(places, own[there], minlength=len(own) * BINS).reshape(shape)
    with np.errstate(divide="ignore"):
        many = np.where(count > 0, np.log(count), FAR)
    return (sums / np.maximum(count, 1)).astype(np.float32), many.astype(np.float32)


def fitted(entries: Entries, model: bool, belief: Belief) -> tuple[np.ndarray, float]:
    """(F,) weights, and that of the model's own scores. The rest has those alone.

    Baskets of different sizes are sure to different degrees, which changes no ranking: each size has its own.
    """
    unit = _units(entries.features, belief)
    belief = Belief(belief.weights * unit, belief.firm / unit**2)
    loss = _Loss(entries._replace(features=entries.features / unit.astype(np.float32)), model, belief)
    start = np.concatenate([belief.weights, np.zeros(len(SIZES) + 1), [USUAL_SCALE]])
    options = {"maxiter": STEPS, "ftol": CLOSE_ENOUGH}
    with np.errstate(over="ignore", invalid="ignore"):  # a step too far is taken back
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x
    if not np.isfinite(found).all():  # a search that went astray says nothing
        return np.zeros(len(belief.weights)), 1.0
    return found[: len(belief.weights)] / unit, loss.scale(found[-1])


def _units(features: np.ndarray, belief: Belief) -> np.ndarray:
    """(F,) what a step of each weight is to be like: a table of large numbers would else lead the search astray. A
    weight that is believed to be something has its unit from that."""
    sizes = np.sqrt(np.mean(np.square(features, dtype=np.float64), axis=0)) if len(features) else 0.0
    units: np.ndarray = np.where((belief.weights == 0) & (sizes > 0), sizes, 1.0)
    return units


class _Loss:
    """How unlikely the answers are with weights, certainties and the logarithm of the model's scale; and its slope."""

    def __init__(self, entries: Entries, model: bool, belief: Belief) -> None:
        self.entries, self.model, self.believed = entries, model, belief.weights
        self.firm = belief.firm / len(entries.lengths)
        self.starts = np.cumsum(entries.lengths) - entries.lengths
        self.answers = np.flatnonzero(entries.wanted)
        owners = np.repeat(np.arange(len(entries.lengths)), entries.lengths)[self.answers]
        self.each = np.bincount(owners, minlength=len(entries.lengths))  # answers of each query
        self.first = np.cumsum(self.each) - self.each
        self.counts = entries.counts / entries.counts.mean()
        self.share = np.bincount(entries.group, self.counts, minlength=len(SIZES) + 1) / len(entries.group)

    def scale(self, logarithm: float) -> float:
        return LEAST_SCALE + (float(np.exp(logarithm)) if self.model else 0.0)

    def __call__(self, given: np.ndarray) -> tuple[float, np.ndarray]:
        entries, queries = self.entries, len(self.entries.lengths)
        weights, sure, logarithm = np.split(given, [entries.features.shape[1], -1])
        scale = np.float32(self.scale(logarithm[0]))
        certainty = np.exp(sure - self.share @ sure)[entries.group].astype(np.float32)
        plain = scale * entries.own + entries.features @ weights.astype(np.float32)
        scores = plain * np.repeat(certainty, entries.lengths)
        rest = scale * entries.rest * certainty[:, None] + entries.many
        most = np.maximum(np.maximum.reduceat(scores, self.starts), rest.max(1))
        near = np.exp(scores - np.repeat(most, entries.lengths))
        rest = np.exp(rest - most[:, None])
        total = np.add.reduceat(near, self.starts) + rest.sum(1)
        mine = scores[self.answers]
        top = np.maximum.reduceat(mine, self.first)
        mine = np.exp(mine - np.repeat(top, self.each))
        wanted = np.add.reduceat(mine, self.first)
        value = float(np.mean(self.counts * (np.log(total) + most - np.log(wanted) - top)))
        # The slope: by scores, then by what they are made of.
        near /= np.repeat(total, entries.lengths)
        near[self.answers] -= mine / np.repeat(wanted, self.each)
        near *= np.repeat(self.counts, entries.lengths)
        rest *= entries.rest / total[:, None]
        rest *= self.counts[:, None]
        by_certainty = np.add.reduceat(near * plain, self.starts) + scale * rest.sum(1)
        by_group = np.bincount(entries.group, by_certainty * certainty, minlength=len(sure))
        near *= np.repeat(certainty, entries.lengths)
        by_scale = near @ entries.own + rest.sum(1) @ certainty
        away, loose = weights - self.believed, LOOSE / queries
        far = logarithm[0] - USUAL_SCALE if self.model else 0.0  # a model that knows nothing might run away with it
        slope = np.concatenate(
            [
                near @ entries.features / queries + 2 * self.firm * away,
                (by_group - self.share * by_group.sum()) / queries + 2 * loose * sure,
                [by_scale * np.exp(logarithm[0]) / queries + 2 * loose * far if self.model else 0.0],
            ]
        )
        value += float(self.firm @ away**2) + loose * float(sure @ sure + far**2)
        return value, slope
