"""Raw files in, dataset folder out: the one function behind `logirec prepare`."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logirec.config import Format, PrepareConfig
from logirec.data import dataset
from logirec.data.catalog import Catalog, build_catalog, write_interactions, write_items
from logirec.data.demo_shop import DemoShop
from logirec.data.graph import Links, undirected_count
from logirec.data.protocols import baskets, leak_free, paper, released
from logirec.data.protocols.parts import Parts
from logirec.data.query_sets import KINDS, STAGES
from logirec.data.sources import READERS, locate, side_tables
from logirec.data.staging import Staging
from logirec.data.store import Store
from logirec.errors import InputError, UsageError
from logirec.folders import check_free, new_folder, sha256
from logirec.progress import Progress
from logirec.relation import Relation


@dataclass(frozen=True)
class Inputs:
    """The files to read. Without a source, the demo shop."""

    source: Path | None = None
    format: Format | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    views: Path | None = None
    interactions: Path | None = None
    items: Path | None = None
    demo_items: int = 2_000


def prepare(
    inputs: Inputs, out: Path, config: PrepareConfig, force: bool = False, progress: Progress | None = None
) -> dict[str, Any]:
    """Write the dataset and return its report (the manifest without the file list)."""
    progress = progress or Progress()
    check_free(out, force)
    with new_folder(out, force) as folder:
        work = folder / "work"  # inside, so that it is on the same disk and goes when this fails
        work.mkdir()
        with Staging(work, progress) as staging:
            source = _read(inputs, config, staging)
        if config.protocol is None:
            config = config.model_copy(
                update={"protocol": "released" if source["format"] == "released" else "leak-free"}
            )
        staging.rejects.check(config.max_bad)
        with Store(work, config.memory_mb) as store:
            with progress.task("merging items and links"):
                catalog = build_catalog(store, staging, config)
                staging.rejects.check(config.max_bad)
                write_items(store, folder / "items.parquet")
                counts = dict(catalog.counts)
                if staging.rows["interactions"]:
                    counts["interactions"] = write_interactions(store, staging, folder / "interactions.parquet")
            late = config.protocol in ("baskets", "released")  # these two ask the store once more
            parts = _split(catalog, config, store) if late else None
        shutil.rmtree(work)
        if parts is None:
            with progress.task(f"splitting ({config.protocol})"):
                parts = _split(catalog, config, None)
        _write(folder, parts)
        staging.rejects.write(folder / "rejects.jsonl")
        report = {
            "protocol": config.protocol,
            "seed": config.seed,
            "source": source,
            "settings": config.model_dump(mode="json"),
            "items": catalog.items,
            "links": _link_counts(catalog, parts),
            "queries": _query_counts(parts),
            "notes": {**staging.notes, **parts.notes},
            "merged": counts,
            "lines": {
                "read": staging.rejects.lines_read,
                "rejected": staging.rejects.totals("rejected"),
                "filtered": staging.rejects.totals("filtered"),
            },
        }
        dataset.finish(folder, report)
    return report


def _read(inputs: Inputs, config: PrepareConfig, staging: Staging) -> dict[str, Any]:
    """Run the readers; say what was read."""
    if inputs.source is None:
        if config.protocol == "released":
            raise UsageError("--protocol released needs the authors' released folder")
        inputs = _demo_inputs(inputs.demo_items, config, staging)
        described: dict[str, Any] = {"format": "demo", "items": inputs.demo_items}
    else:
        described = {}
    assert inputs.source is not None  # noqa: S101
    format, path = locate(inputs.source, inputs.format)
    if inputs.views and format != "orders":
        raise UsageError("--views goes with order lines; other formats carry their own co-views")
    READERS[format](path, staging, inputs.columns)
    for extra, reader in (
        (inputs.items, side_tables.read_items),
        (inputs.interactions, side_tables.read_interactions),
    ):
        if extra is not None:
            reader(_existing(extra), staging)
    if inputs.views:
        side_tables.read_views(_existing(inputs.views), staging, inputs.columns)
    if not staging.rejects.lines_read:
        raise InputError(f"{path.name}: the file is empty")
    if described:
        return described
    files = [p for p in (path, inputs.items, inputs.interactions, inputs.views) if p is not None]
    hashes = {p.name: sha256(p) for p in files if p.is_file()}
    return {"format": format, "name": path.name, "sha256": hashes}


def _demo_inputs(items: int, config: PrepareConfig, staging: Staging) -> Inputs:
    """The demo shop's files, written beside the other working files: order lines for baskets, product lines else."""
    shop = DemoShop(items, config.seed)
    orders, views, products = (staging.folder / name for name in ("orders.csv", "views.csv", "products.jsonl"))
    with staging.progress.task("making the demo shop"):
        shop.write_products(products)
        if config.protocol != "baskets":
            return Inputs(products, demo_items=shop.items)
        shop.write_orders(orders)
        shop.write_views(views)
    return Inputs(orders, views=views, items=products, demo_items=shop.items)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    return path


def _split(catalog: Catalog, config: PrepareConfig, store: Store | None) -> Parts:
    match config.protocol:
        case "leak-free":
            return leak_free.split(catalog, config)
        case "paper":
            return paper.split(catalog, config)
    assert store is not None  # noqa: S101
    if config.protocol == "released":
        return released.split(catalog, store)
    return baskets.split(catalog, store, config)


def _write(folder: Path, parts: Parts) -> None:
    for stage in STAGES:
        dataset.write_links(folder, stage, parts.links[stage])
        for kind in KINDS:
            dataset.write_queries(folder, stage, kind, parts.queries[stage, kind])
    if parts.baskets is not None:
        dataset.write_baskets(folder, parts.baskets)


def _link_counts(catalog: Catalog, parts: Parts) -> dict[str, Any]:
    counts: dict[str, Any] = {}
    for relation in Relation:
        links: Links = catalog.links[relation]
        counts[relation.label] = {
            "directed": len(links),
            "undirected": undirected_count(links, catalog.items),
            **{stage: len(parts.links[stage][relation]) for stage in STAGES},
        }
    return counts


def _query_counts(parts: Parts) -> dict[str, Any]:
    return {
        stage: {
            kind: {"queries": len(q), "answers": len(q.answers.values)}
            for kind in KINDS
            for q in [parts.queries[stage, kind]]
        }
        for stage in STAGES
    }
