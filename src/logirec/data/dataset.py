"""The dataset on disk: what `prepare` writes and everything later reads.

items.parquet                     row, item_id, title, brand, category
links/{train,valid,test}.parquet  source, target, relation, weight; training opens the first and no other
queries/STAGE-KIND.parquet        members, answers, hardness (per answer), known
interactions.parquet              user, item, rating, time (where given)
baskets.parquet                   items of each training order, as its lines stand (protocol baskets)
rejects.jsonl                     what was left out of the input, why and where
manifest.json                     protocol, seed, settings, counts, sampling, size and SHA-256 of every file
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from logirec.data.graph import ItemGraph, Links
from logirec.data.query_sets import KINDS, STAGES, Kind, QuerySet, Ragged, Stage, joined, stacked
from logirec.errors import ArtifactError
from logirec.folders import read_manifest
from logirec.relation import Relation
from logirec.vocabulary import Vocabulary

KIND, SCHEMA = "dataset", 1

LINK_SCHEMA = pa.schema({"source": pa.int32(), "target": pa.int32(), "relation": pa.int8(), "weight": pa.float32()})
_ROWS = pa.list_(pa.field("item", pa.int32(), nullable=False))
QUERY_SCHEMA = pa.schema(
    {
        "members": _ROWS,
        "answers": _ROWS,
        "hardness": pa.list_(pa.field("item", pa.int8(), nullable=False)),
        "known": _ROWS,
    }
)
BASKET_SCHEMA = pa.schema({"items": _ROWS})


class Dataset:
    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest

    @classmethod
    def load(cls, folder: str | Path, verify: bool = True) -> "Dataset":
        folder = Path(folder)
        return cls(folder, read_manifest(folder, KIND, SCHEMA, verify))

    @property
    def protocol(self) -> str:
        return str(self.manifest["protocol"])

    @property
    def items(self) -> int:
        return int(self.manifest["items"])

    @property
    def sets_run_backwards(self) -> bool:
        """Whether a high-order answer links to the members, not they to it (the released data)."""
        return "direction" in self.manifest["notes"]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self._read("items.parquet", ["item_id"]).column(0).to_pylist())

    @cached_property
    def descriptions(self) -> dict[str, list[str | None]]:
        """title, brand and category, each by row."""
        table = self._read("items.parquet", ["title", "brand", "category"])
        return {name: table.column(name).to_pylist() for name in table.column_names}

    def links(self, stage: Stage) -> dict[Relation, Links]:
        """The links of one stage alone."""
        table = self._read(f"links/{stage}.parquet")
        source, target, relation, weight = (table.column(i).to_numpy() for i in range(4))
        return {r: Links(*(column[relation == r] for column in (source, target, weight))) for r in Relation}

    def graph(self, until: Stage = "train") -> ItemGraph:
        """The links of all stages up to this one. Models are given the default."""
        parts = [self.links(stage) for stage in STAGES[: STAGES.index(until) + 1]]
        return ItemGraph(self.items, parts[0] if len(parts) == 1 else _merged(parts))

    def blind(self) -> "Dataset":
        """As a model may see it that is judged on validation: the released training links hold validation's answers."""
        return _Blind(self.folder, self.manifest) if self.protocol == "released" else self

    def until(self, stage: Stage) -> "Dataset":
        """As if all links and orders up to this stage were training's: for a model that has been chosen, and is told
        the rest."""
        return self if stage == "train" else _Until(self.folder, self.manifest, stage)

    def queries(self, stage: Stage, kind: Kind) -> QuerySet:
        table = self._read(f"queries/{stage}-{kind}.parquet").combine_chunks()
        members, answers, hardness, known = (_ragged(table.column(name)) for name in QUERY_SCHEMA.names)
        return QuerySet(members, answers, hardness.values, known)

    def interactions(self) -> dict[str, np.ndarray] | None:
        """user, item, rating, time; None where the dataset was prepared without."""
        if not (self.folder / "interactions.parquet").exists():
            return None
        table = self._read("interactions.parquet")
        return {name: table.column(name).to_numpy() for name in table.column_names}

    def baskets(self) -> Ragged | None:
        """Orders to learn from, where there are any."""
        if not (self.folder / "baskets.parquet").exists():
            return None
        return _ragged(self._read("baskets.parquet").combine_chunks().column("items"))

    def lines(self) -> Ragged | None:
        """The training orders, where it is known in which order their items stand. Where all stand by row, it is not:
        lines were sorted by item, or the dataset was prepared before they were kept."""
        orders = Dataset.baskets(self)
        if orders is None:
            return None
        apart = np.diff(orders.owners) > 0
        return None if (apart | (np.diff(orders.values) > 0)).all() else orders

    def _read(self, name: str, columns: list[str] | None = None) -> pa.Table:
        try:
            return pq.read_table(self.folder / name, columns=columns, partitioning=None)
        except (pa.ArrowException, OSError) as error:
            raise ArtifactError(f"{self.folder}: cannot read {name} ({str(error).splitlines()[0]})") from error


class _Blind(Dataset):
    def links(self, stage: Stage) -> dict[Relation, Links]:
        found = super().links(stage)
        if stage != "train":
            return found
        asked, bought = self.queries("valid", "low"), found[Relation.CO_PURCHASE]
        wanted = asked.members.values[asked.answers.owners].astype(np.int64) * self.items + asked.answers.values
        seen = np.isin(bought.source.astype(np.int64) * self.items + bought.target, wanted)
        return {**found, Relation.CO_PURCHASE: bought.where(~seen)}


class _Until(Dataset):
    def __init__(self, folder: Path, manifest: dict[str, Any], stage: Stage) -> None:
        super().__init__(folder, manifest)
        self.later = STAGES[1 : STAGES.index(stage) + 1]

    def links(self, stage: Stage) -> dict[Relation, Links]:
        found = super().links(stage)
        if stage != "train":
            return found
        return _merged([found, *(super(_Until, self).links(later) for later in self.later)])

    def baskets(self) -> Ragged | None:
        """An order that was asked about is its basket and what was hidden of it."""
        orders = super().baskets()
        if orders is None:
            return None
        asked = [self.queries(stage, kind) for stage in self.later for kind in KINDS]
        return stacked([orders, *(joined([some.members, some.answers]) for some in asked)])


def _merged(parts: list[dict[Relation, Links]]) -> dict[Relation, Links]:
    return {relation: _union([part[relation] for part in parts]) for relation in Relation}


def _union(parts: list[Links]) -> Links:
    """All links of the parts; one that two stages share (the released split has some) once."""
    source, target, weight = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((target, source))
    links = Links(source[order], target[order], weight[order])
    first = np.ones(len(links), dtype=bool)
    first[1:] = (np.diff(links.source) != 0) | (np.diff(links.target) != 0)
    return links.where(first)


def _ragged(column: pa.ChunkedArray) -> Ragged:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    offsets = array.offsets.to_numpy().astype(np.int64)
    values = array.values.to_numpy(zero_copy_only=False)[offsets[0] : offsets[-1]]
    return Ragged(offsets - offsets[0], values)
