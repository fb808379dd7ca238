"""An index that looks at a part of the catalogue: faiss' graph of near items, for millions of them. Extra `ann`.

A score is an inner product with the item's weights and, for each relation r, its offset:

  score(i | q, r) = (q, 1 at r) . x_i  +  (q, 1 at r) . mean  -  scale * offset_q
  with x_i = (weights_i, offsets_i) - mean

The graph is one of distances. With one more number, sqrt(longest^2 - |x_i|^2), all items are equally long, and the
nearest to a query (0 there) is the one with the largest product.

How far the graph is followed is measured: as little as finds 99 % of the true ten best, on queries of the trained
model. Where a quarter of the catalogue would have to be looked at, the index is refused.
"""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from logirec.errors import ArtifactError, InputError, UsageError
from logirec.index.exact import ExactIndex
from logirec.index.scan import Best, Heights, Scan, alone, in_order, one_hot
from logirec.logic.beta import Beta
from logirec.logic.divergence import query_features, query_offset
from logirec.model.evidence import Support
from logirec.model.logirec import Asked, LogiRec, Shape
from logirec.relation import Relation

FILE, SETTINGS = "ann.faiss", "ann.json"
TOP_K, WANTED_RECALL = 10, 0.99
LINKS, CARE = 32, 200  # of each item in the graph; how many it is chosen from
MEASURED_ON = 512  # queries of each shape
SAMPLE = 1024  # items that stand for what was not looked at


def build(model: LogiRec, folder: Path, seed: int = 0) -> dict[str, Any]:
    """Write the index of a trained model's items into a folder; returns what was measured."""
    faiss = _faiss()
    if model.items < 8 * TOP_K:
        raise InputError(f"no approximate index: {model.items} items are looked at faster one by one")
    if model.raw_items.device.type != "cpu":  # where it is asked, too
        model = deepcopy(model).cpu()
    exact = ExactIndex(model, coarse=False)
    vectors = np.concatenate([exact.weights.cpu().numpy(), exact.offsets.T.cpu().numpy()], axis=1)
    mean = vectors.mean(0)
    vectors -= mean
    squares = np.square(vectors).sum(1)
    vectors = np.concatenate([vectors, np.sqrt(squares.max() - squares)[:, None]], axis=1)
    graph = faiss.IndexHNSWFlat(vectors.shape[1], LINKS, faiss.METRIC_L2)
    graph.hnsw.efConstruction = CARE
    graph.add(vectors)
    asked = _queries(model, seed)
    truth = [exact.scan(queries, relation, TOP_K).rows for queries, relation in asked]
    recall, followed = 0.0, 2 * TOP_K
    while recall < WANTED_RECALL:
        if 4 * followed > model.items:
            raise InputError(
                f"no approximate index: following {followed // 2} items finds {recall:.3f} of the ten best, "
                f"{WANTED_RECALL} are wanted; the exact one is for this model"
            )
        index = ApproximateIndex(model, graph, followed, mean)
        recall = _recall([index.scan(queries, relation, TOP_K).rows for queries, relation in asked], truth)
        followed *= 2
    settings = {"followed": followed // 2, "recall_at_10": recall, "mean": mean.tolist()}
    faiss.write_index(graph, str(folder / FILE))
    (folder / SETTINGS).write_text(json.dumps(settings) + "\n")
    return {"followed": followed // 2, "recall_at_10": recall}


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise UsageError("the approximate index needs the extra: pip install 'logirec[ann]'") from error
    return faiss


def _queries(model: LogiRec, seed: int) -> list[tuple[Beta, Relation]]:
    """Of single items and of pairs."""
    draws = torch.Generator().manual_seed(seed)
    found = []
    for shape, size in ((Shape.LOW, 1), (Shape.HIGH, 2)):
        members = torch.randint(model.items, (MEASURED_ON, size), generator=draws).to(model.raw_items.device)
        with torch.no_grad():
            query = Beta(*(part.cpu() for part in model.ask([Asked(shape, members)])[0]))
        found.append((query, shape.relation))
    return found


def _recall(found: Sequence[Tensor], truth: Sequence[Tensor]) -> float:
    hits = [(a[:, :, None] == b.cpu()[:, None, :]).any(1) for a, b in zip(found, truth, strict=True)]
    return float(torch.cat(hits).double().mean())


@dataclass(frozen=True)
class SampledScan(Scan):
    """The rest of the catalogue is known by a sample."""

    sampled: Tensor  # (S,) rows, the same for all queries
    table: Tensor  # (B, S) their scores
    items: int

    def log_sums(self, temperatures: Sequence[float], without: Sequence[Sequence[int]]) -> list[float]:
        found = []
        for at, (temperature, out) in enumerate(zip(temperatures, without, strict=True)):
            if not temperature:
                found.append(0.0)
                continue
            left_out = torch.tensor(list(out), dtype=torch.int64)
            seen = ~torch.isin(self.rows[at], left_out) & (self.rows[at] >= 0)
            rest = ~torch.isin(self.sampled, torch.cat([self.rows[at], left_out]))
            weight = (self.items - int(seen.sum())) / max(1, int(rest.sum()))
            parts = [self.scores[at][seen] * temperature, self.table[at][rest] * temperature + np.log(weight)]
            found.append(float(torch.cat(parts).double().logsumexp(0)))
        return found


class ApproximateIndex:
    def __init__(self, model: LogiRec, graph: Any, followed: int, mean: np.ndarray) -> None:
        if graph.ntotal != model.items or graph.d != len(mean) + 1 or len(mean) != model.raw_items.shape[1] + 2:
            raise ArtifactError(f"{FILE} does not belong to these weights; train again")
        self.graph, self.items, self.followed = graph, model.items, followed
        self.scale = 1.0 if model.log_scale is None else float(model.log_scale.detach().exp())
        self.mean = torch.from_numpy(mean.astype(np.float32))
        self.sampled = torch.randperm(self.items, generator=torch.Generator().manual_seed(0))[:SAMPLE]

    @classmethod
    def read(cls, model: LogiRec, folder: Path) -> "ApproximateIndex":
        if not (folder / FILE).exists():
            raise UsageError(f"{folder} has no approximate index; train it with --ann")
        faiss = _faiss()
        try:
            settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
            graph = faiss.read_index(str(folder / FILE))
            return cls(model, graph, int(settings["followed"]), np.array(settings["mean"], dtype=float))
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            raise ArtifactError(f"{folder}/{FILE}: cannot be read; train again") from error

    @torch.no_grad()
    def scan(
        self, queries: Beta, relation: Relation | Sequence[Relation], depth: int, support: Support | None = None
    ) -> Scan:
        depth = min(depth, self.items)
        settings = _faiss().SearchParametersHNSW(efSearch=max(self.followed, depth))
        _, rows = self.graph.search(self._asked(queries, relation), depth, params=settings)
        best = in_order(*self._scored(queries, relation, torch.from_numpy(rows)))
        floor = best.scores[:, -1] if depth < self.items else torch.full_like(best.scores[:, -1], -torch.inf)
        floor = floor.masked_fill((best.rows < 0).any(1), torch.inf)  # what the graph has not reached may be better
        if support is not None:
            best = self._beside(queries, relation, best.rows, support.strongest(depth), support)
        table = self.scores_of(queries, relation, self.sampled.expand(len(rows), -1), support)

        def again(line: int, top_k: int, forbidden: Tensor) -> Best:
            one, along, evidence = alone(line, queries, relation, support)
            return self.search(one, along, top_k, forbidden, evidence)

        return SampledScan(*best, floor, again, self.sampled, table, self.items)

    def _beside(
        self,
        queries: Beta,
        relation: Relation | Sequence[Relation],
        rows: Tensor,
        more: Tensor,
        support: Support,
    ) -> Best:
        """What the graph has found and what has evidence, together."""
        rows = torch.cat([rows, more], dim=1).sort(dim=1).values
        rows[:, 1:] = rows[:, 1:].masked_fill(rows[:, 1:] == rows[:, :-1], -1)  # each once
        return in_order(*self._scored(queries, relation, rows, support))

    @torch.no_grad()
    def scores_of(
        self, queries: Beta, relation: Relation | Sequence[Relation], rows: Tensor, support: Support | None = None
    ) -> Tensor:
        """(B, M): of each query's own items (B, M) only."""
        wanted, places = np.unique(rows.numpy(), return_inverse=True)
        vectors = torch.from_numpy(self.graph.reconstruct_batch(wanted))[:, :-1] + self.mean
        asked = torch.from_numpy(self._asked(queries, relation))[:, :-1]
        products = torch.einsum("bd,bmd->bm", asked, vectors[torch.from_numpy(places).view(rows.shape)])
        own = products - self.scale * query_offset(queries)[:, None]
        return own if support is None else own + support.at(rows)

    def heights(self, queries: Beta, relation: Relation | Sequence[Relation], rows: Tensor) -> Heights:
        """Among the sample."""
        sampled = self.sampled.expand(len(rows), -1)
        scores = self.scores_of(queries, relation, torch.cat([sampled, rows], dim=1))
        sample, own = scores[:, : sampled.shape[1]], scores[:, sampled.shape[1] :]
        deviation = sample.std(1)
        return Heights((own - sample.mean(1, keepdim=True)) / deviation[:, None], deviation)

    @torch.no_grad()
    def search(
        self,
        queries: Beta,
        relation: Relation,
        top_k: int,
        forbidden: Tensor | None = None,
        support: Support | None = None,
    ) -> Best:
        """All items are looked at, and all that has evidence: what is ruled out may be most of what is near."""
        faiss = _faiss()
        allowed = np.ones(self.items, dtype=bool) if forbidden is None else ~forbidden.numpy()
        settings = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little")))
        every = faiss.downcast_index(self.graph.storage)
        _, rows = every.search(self._asked(queries, relation), min(top_k, self.items), params=settings)
        if support is None:
            return in_order(*self._scored(queries, relation, torch.from_numpy(rows)))
        more = support.strongest(forbidden=forbidden)
        best = self._beside(queries, relation, torch.from_numpy(rows), more, support)
        return Best(*(part[:, : rows.shape[1]] for part in best))

    def _asked(self, queries: Beta, relation: Relation | Sequence[Relation]) -> np.ndarray:
        """(B, 2D + 3)."""
        features = query_features(queries)
        rest = one_hot(relation, len(features))
        asked: np.ndarray = torch.cat([features, rest, torch.zeros(len(rest), 1)], dim=1).numpy()
        return asked

    def _scored(
        self,
        queries: Beta,
        relation: Relation | Sequence[Relation],
        rows: Tensor,
        support: Support | None = None,
    ) -> Best:
        """Faiss puts -1 where it has found no more."""
        scores = self.scores_of(queries, relation, rows.clamp(min=0), support)
        return Best(rows, scores.masked_fill(rows < 0, -torch.inf))
