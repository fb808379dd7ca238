"""A ReChorus folder: item_meta.csv with list columns r_complement and r_substitute, and train/dev/test interactions.

Beside it some releases hold NAME.item2index (outside id -> item_id) and NAME.text (outside id -> title): titles come
from there when both are found.
"""

import ast
from collections.abc import Mapping
from pathlib import Path

import msgspec

from logirec.data.sources import side_tables
from logirec.data.sources.tables import open_table, read_rows
from logirec.data.staging import Staging, by_place
from logirec.errors import InputError
from logirec.relation import Relation

LISTS = {"r_complement": Relation.CO_PURCHASE, "r_substitute": Relation.CO_VIEW}
_ids = msgspec.json.Decoder(list[int | str])


def read(folder: Path, staging: Staging, columns: Mapping[str, str]) -> None:
    path = folder / "item_meta.csv"
    table = open_table(path, LISTS)
    wanted = [name for name in ("item_id", "i_category", "i_brand", *LISTS) if name in table.columns]
    if "item_id" not in wanted or not set(LISTS) & set(wanted):
        raise InputError(f"{path.name}: needs the columns item_id and r_complement or r_substitute")
    titles = _titles(folder)
    staging.files["links"] = path.name
    with staging.progress.task(f"reading {path.name}", path.stat().st_size) as task:
        numbers = [table.columns.index(name) for name in wanted]
        for row in read_rows(table, numbers, staging.rejects, task.advance):
            cells = dict(zip(wanted, row.values, strict=True))
            links = {relation: _list(cells[name]) for name, relation in LISTS.items() if name in cells}
            item = cells["item_id"]
            if not item or any(targets is None for targets in links.values()):
                reason = "list column is not a list" if item else "no item id"
                staging.rejects.reject(path.name, reason, row.line)
                continue
            staging.add(
                "items",
                [row.line],
                item=[item],
                title=[titles.get(item)],
                brand=[cells.get("i_brand") or None],
                category=[cells.get("i_category") or None],
            )
            for relation, targets in links.items():
                count = len(targets or [])
                staging.add(
                    "links",
                    [row.line] * count,
                    source=[item] * count,
                    target=list(targets or []),
                    relation=[int(relation)] * count,
                    weight=by_place(count),
                )
    for name in ("train.csv", "dev.csv", "test.csv"):
        if (folder / name).exists():
            side_tables.read_interactions(folder / name, staging, {})


def _list(text: str) -> list[str] | None:
    if not text:
        return []
    try:
        values = _ids.decode(text)
    except (msgspec.DecodeError, RecursionError):
        try:
            values = msgspec.convert(ast.literal_eval(text), list[int | str])
            msgspec.json.encode(values)  # a literal can spell half a surrogate pair, which no file can hold
        except (msgspec.MsgspecError, ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None
    ids = [str(value).strip() for value in values]
    return None if "" in ids else ids


def _titles(folder: Path) -> dict[str, str]:
    index = next(iter(sorted(folder.glob("*.item2index"))), None)
    texts = index.with_suffix(".text") if index else None
    if index is None or texts is None or not texts.exists():
        return {}
    item_of = dict(_pairs(index))
    return {item_of[outside]: title for outside, title in _pairs(texts) if outside in item_of}


def _pairs(path: Path) -> list[tuple[str, str]]:
    with path.open(encoding="utf-8", errors="replace") as lines:
        split = (line.rstrip("\n").split("\t", 1) for line in lines)
        return [(fields[0], fields[1]) for fields in split if len(fields) == 2]
