"""A table of links: source, target, relation (+ weight), as CSV, TSV or Parquet."""

from collections.abc import Mapping
from pathlib import Path

from logirec.data.sources.tables import open_table, read_rows, recognise
from logirec.data.staging import Staging
from logirec.relation import Relation

ROLES = {"source": True, "target": True, "relation": False, "weight": False}

RELATION_NAMES = {
    name: relation
    for relation, names in {
        Relation.CO_PURCHASE: "co_purchase copurchase cp also_buy also_bought buy bought complement complements 0",
        Relation.CO_VIEW: "co_view coview cv also_view also_viewed view viewed substitute substitutes 1",
    }.items()
    for name in names.split()
}


def read(path: Path, staging: Staging, columns: Mapping[str, str]) -> None:
    table = open_table(path, columns.values())
    found = recognise(table, ROLES, columns)
    roles = list(found)
    staging.columns = {role: table.columns[number] for role, number in found.items()}
    staging.files["links"] = path.name
    rows = staging.writer("links", ("source", "target", "relation", "weight"))
    with staging.progress.task(f"reading {path.name}", path.stat().st_size) as task:
        for row in read_rows(table, [found[role] for role in roles], staging.rejects, task.advance):
            cells = dict(zip(roles, row.values, strict=True))
            name = (cells.get("relation") or "co_purchase").lower().replace("-", "_").replace(" ", "_")
            weight = _weight(cells.get("weight", ""))
            if not cells["source"] or not cells["target"]:
                staging.rejects.reject(path.name, "no item id", row.line)
            elif name not in RELATION_NAMES:
                staging.rejects.reject(path.name, "unknown relation", row.line)
            elif weight is None:
                staging.rejects.reject(path.name, "weight is not a positive number", row.line)
            else:
                rows.add(row.line, (cells["source"], cells["target"], int(RELATION_NAMES[name]), weight))


def _weight(text: str) -> float | None:
    if not text:
        return 1.0
    try:
        weight = float(text)
    except ValueError:
        return None
    return weight if 0 < weight < 1e38 else None  # what a 32-bit number holds
