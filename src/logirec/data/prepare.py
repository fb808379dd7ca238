"""Raw files in, dataset folder out: the one function behind `logirec prepare`."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from logirec.config import Format, OrderRules, PrepareConfig
from logirec.data.catalog import Catalog, build_catalog, load_catalog
from logirec.data.dataset import KIND, SCHEMA
from logirec.data.demo_shop import DemoShop
from logirec.data.interactions import write_interactions
from logirec.data.memory import hoarding_nothing
from logirec.data.protocols import baskets, leak_free, paper, released
from logirec.data.sources import READERS, locate, roles_of, side_tables, tables_of
from logirec.data.sources.tables import check_columns
from logirec.data.staging import Staging
from logirec.data.store import Store
from logirec.data.writer import DatasetWriter
from logirec.errors import InputError, UsageError
from logirec.folders import check_free, new_folder, sha256, write_manifest
from logirec.memory import give_back_memory
from logirec.progress import Progress

DEMO_ITEMS = 2_000


@dataclass(frozen=True)
class Inputs:
    """The files to read. Without a source, the demo shop."""

    source: Path | None = None
    format: Format | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    views: Path | None = None
    interactions: Path | None = None
    items: Path | None = None
    demo_items: int | None = None


def prepare(
    inputs: Inputs,
    out: str | Path,
    config: PrepareConfig = PrepareConfig(),  # noqa: B008  frozen
    force: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write the dataset and return its report (the manifest without the file list, and which columns were read)."""
    out, progress = Path(out), progress or Progress()
    _check_fit(config)
    _check_place(out)
    check_free(out, KIND, force)
    with hoarding_nothing(), new_folder(out, KIND, force) as folder:
        work = folder / "work"  # inside, so that it is on the same disk and goes when this fails
        work.mkdir()
        with Staging(work, progress) as staging:
            source = _read(inputs, config, staging)
        give_back_memory()
        if config.protocol is None:
            config = config.model_copy(
                update={"protocol": "released" if source["format"] == "released" else "leak-free"}
            )
            _check_fit(config)
        staging.rejects.check(config.max_bad)
        with Store(work, config.memory_mb) as store:
            with progress.task("merging items and links"):
                files = build_catalog(store, staging, config, folder / "items.parquet")
                counts = dict(files.counts)
                if store.value("SELECT count(*) FROM raw_interactions"):
                    counts["interactions"] = write_interactions(
                        store, staging, folder / "interactions.parquet", files.order_split
                    )
                    staging.rejects.check(config.max_bad)
            if config.protocol in ("leak-free", "cold-items", "paper"):
                store.close()  # the other two have questions left
                give_back_memory()
            catalog = load_catalog(files)
            give_back_memory()
            with progress.task(f"splitting ({config.protocol})"):
                writer = DatasetWriter(folder, catalog)
                _split(catalog, config, store, writer)
        shutil.rmtree(work)
        staging.rejects.write(folder / "rejects.jsonl")
        report = {
            "protocol": config.protocol,
            "seed": config.seed,
            "source": source,
            "settings": config.model_dump(mode="json"),
            "items": catalog.items,
            "links": writer.links_written,
            "queries": writer.queries_written,
            "notes": {**staging.notes, **writer.notes},
            "merged": counts,
            "lines": {
                "read": staging.rejects.lines_read,
                "rejected": staging.rejects.totals("rejected"),
                "filtered": staging.rejects.totals("filtered"),
            },
        }
        write_manifest(folder, KIND, SCHEMA, report)
    return report | {"columns": staging.columns}


def _check_fit(config: PrepareConfig) -> None:
    """Options that a protocol has no use for are refused rather than passed over."""
    if config.protocol in ("paper", "released") and config.basket_sizes != (2,):
        raise UsageError(f"--protocol {config.protocol} has pairs only; --basket-sizes goes with leak-free and baskets")
    if config.protocol not in (None, "leak-free") and config.hide_views:
        raise UsageError("--hide-views goes with leak-free")
    if config.protocol == "baskets" and config.keep_unlinked:
        raise UsageError("--keep-unlinked: with baskets the catalogue is what training orders hold")


def _check_place(out: Path) -> None:
    """DuckDB takes what follows a question mark for options; Arrow wants valid text."""
    place = str(out.resolve())
    if "?" in place.encode("utf-8", "replace").decode():
        raise UsageError(f"--out {out}: its path holds a ? or is not valid UTF-8; choose another")


def _read(inputs: Inputs, config: PrepareConfig, staging: Staging) -> dict[str, Any]:
    """Run the readers; say what was read."""
    if inputs.source is None:
        if config.protocol == "released":
            raise UsageError("--protocol released needs the authors' released folder")
        if inputs.items or inputs.interactions or inputs.views:
            raise UsageError("--items, --interactions and --views go with a SOURCE; the demo shop has its own")
        if inputs.format or inputs.columns:
            raise UsageError("--format and --columns go with a SOURCE; without one the demo shop is made")
        inputs = _demo_inputs(inputs, config, staging)
        described: dict[str, Any] = {"format": "demo", "items": inputs.demo_items}
    elif inputs.demo_items is not None:
        raise UsageError("--demo-items is the size of the demo shop, which is made where there is no SOURCE")
    else:
        described = {}
    assert inputs.source is not None  # noqa: S101
    format, path = locate(inputs.source, inputs.format, inputs.columns)
    if inputs.views and format != "orders":
        raise UsageError("--views goes with order lines; other formats carry their own co-views")
    usual = OrderRules()
    rules = [name for name in OrderRules.model_fields if getattr(config.orders, name) != getattr(usual, name)]
    if rules and format != "orders":
        said = f"{path.name} has none" if inputs.demo_items is None else "--protocol baskets makes a demo shop of them"
        named = ", ".join(f"--{name.replace('_', '-')}" for name in rules)
        raise UsageError(f"{named}: for order lines; {said}")
    for extra in (inputs.items, inputs.interactions, inputs.views):
        if extra is not None and not extra.is_file():
            raise InputError(f"{extra}: no such file")
    names = [p.name for p in (path, inputs.items, inputs.interactions, inputs.views) if p is not None]
    if len(set(names)) < len(names):
        raise UsageError(
            f"two input files are called {max(names, key=names.count)}; rename one, so that each can be named"
        )
    extras = [p for p in (inputs.items, inputs.interactions, inputs.views) if p is not None]
    check_columns([*tables_of(format, path), *extras], inputs.columns)
    _check_roles(inputs, format, path)
    if inputs.items:
        side_tables.read_items(inputs.items, staging, inputs.columns)  # first: its words win
    READERS[format](path, staging, inputs.columns)
    if inputs.interactions:
        side_tables.read_interactions(inputs.interactions, staging, inputs.columns)
    if inputs.views:
        side_tables.read_views(inputs.views, staging, inputs.columns)
    if not staging.rejects.lines_read:
        raise InputError(f"{path.name}: the file is empty, or its header stands alone")
    if described:
        return described
    files = [p for p in (path, inputs.items, inputs.interactions, inputs.views) if p is not None]
    hashes = {_shown(p): sha256(p) for p in files if p.is_file()}
    return {"format": format, "name": _shown(path), "sha256": hashes}


def _check_roles(inputs: Inputs, format: Format, path: Path) -> None:
    """A column that nothing would read is not named in vain."""
    read = roles_of(format, path)
    for file, roles in (
        (inputs.items, side_tables.ITEM_ROLES),
        (inputs.interactions, side_tables.INTERACTION_ROLES),
        (inputs.views, side_tables.VIEW_ROLES),
    ):
        read |= roles.keys() if file else set()
    if unread := [role for role in inputs.columns if role not in read]:
        raise UsageError(
            f"--columns {unread[0]}=...: nothing here is read for that, only {', '.join(sorted(read))}; what describes "
            "items goes into a table of its own, --items"
        )


def _shown(path: Path) -> str:
    """A file's name may be no valid text; a manifest must."""
    return path.name.encode("utf-8", "replace").decode()


def _demo_inputs(inputs: Inputs, config: PrepareConfig, staging: Staging) -> Inputs:
    """The demo shop's files, written beside the other working files: order lines for baskets, product lines else."""
    shop = DemoShop(DEMO_ITEMS if inputs.demo_items is None else inputs.demo_items, config.seed)
    orders, views, products = (staging.folder / name for name in ("orders.csv", "views.csv", "products.jsonl"))
    with staging.progress.task("making the demo shop"):
        shop.write_products(products)
        if config.protocol != "baskets":
            return Inputs(products, demo_items=shop.items)
        shop.write_orders(orders)
        shop.write_views(views)
    return Inputs(orders, views=views, items=products, demo_items=shop.items)


def _split(catalog: Catalog, config: PrepareConfig, store: Store, writer: DatasetWriter) -> None:
    match config.protocol:
        case "paper":
            paper.split(catalog, config, writer)
        case "released":
            released.split(catalog, store, writer)
        case "baskets":
            baskets.split(catalog, store, config, writer)
        case _:
            leak_free.split(catalog, config, writer)
