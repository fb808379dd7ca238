"""The paper authors' processed folder: lowOrder/ and highOrder/ text files, item names in id2ent.pkl.

lowOrder/train.txt   `h r t` links (0 also-buy, 1 its inverse, 2 also-view, 3 its inverse) and `q 0 2 a` low triplets
lowOrder/*.txt       `q 0 2 a`: item q, answer a, also-buy and not also-view
highOrder/*.txt      `-3 i1 i2 0 i3`: the pair (i1, i2), answer i3
The answer pickles hold the same triplets once more; they are compared with the text and the result is noted.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from logirec.data.sources import pickles
from logirec.data.sources.lines import read_lines
from logirec.data.staging import Staging
from logirec.errors import InputError
from logirec.relation import Relation

STAGES = ("train", "valid", "test")
RELATION_OF = {0: Relation.CO_PURCHASE, 2: Relation.CO_VIEW}
INVERSE_OF = {1: Relation.CO_PURCHASE, 3: Relation.CO_VIEW}

Triplet = tuple[int, ...]  # (q, a) or (i1, i2, a)


def read(folder: Path, staging: Staging, columns: Mapping[str, str]) -> None:
    names = _names(folder)
    reader = _Reader(folder, names, staging)
    links: dict[int, set[tuple[int, int]]] = {number: set() for number in range(4)}
    triplets: dict[str, set[Triplet]] = {stage: set() for stage in STAGES}
    for stage in STAGES:
        for number, fields in reader.records(f"lowOrder/{stage}.txt"):
            if len(fields) == 3 and stage == "train" and fields[1] in links:
                links[fields[1]].add((fields[0], fields[2]))
            elif len(fields) == 4 and fields[1:3] == [0, 2]:
                triplets[stage].add((fields[0], fields[3]))
            else:
                reader.reject(f"lowOrder/{stage}.txt", number)
        for number, fields in reader.records(f"highOrder/{stage}.txt"):
            if len(fields) == 5 and fields[0] == -3 and fields[3] == 0:
                triplets[stage].add((fields[1], fields[2], fields[4]))
            else:
                reader.reject(f"highOrder/{stage}.txt", number)
    _stage_links(links, triplets, names, staging)
    rows = staging.writer("triplets", ("stage", "kind", "first", "second", "answer"))
    for stage in STAGES:
        for triplet in sorted(triplets[stage]):
            first, *second, answer = (names[i] for i in triplet)
            kind = "high" if second else "low"
            rows.add(0, (stage, kind, first, second[0] if second else None, answer))
    pickled = {s: _pickled(folder / f"{s}-answers.pkl") for s in STAGES if (folder / f"{s}-answers.pkl").exists()}
    staging.notes["released"] = {
        "inverse_links_mirror_the_links": all(
            {(t, h) for h, t in links[inverse]} == links[forward] for inverse, forward in ((1, 0), (3, 2))
        ),
        "pickled_triplets_equal_text": {stage: found == triplets[stage] for stage, found in pickled.items()},
    }


def _stage_links(
    links: dict[int, set[tuple[int, int]]],
    triplets: dict[str, set[Triplet]],
    names: dict[int, str],
    staging: Staging,
) -> None:
    """Every link the folder knows of: those of training, and the low triplets of the later stages."""
    staging.files["links"] = "lowOrder/train.txt"
    everything = {relation: set(links[number]) for number, relation in RELATION_OF.items()}
    for number, relation in INVERSE_OF.items():
        everything[relation] |= {(t, h) for h, t in links[number]}
    held_out = {t for stage in ("valid", "test") for t in triplets[stage] if len(t) == 2}
    for relation, pairs in everything.items():
        unseen = held_out - pairs if relation is Relation.CO_PURCHASE else set()
        for is_held_out, group in ((False, pairs), (True, unseen)):
            rows = sorted(group)
            staging.add(
                "links",
                [0] * len(rows),
                held_out=[is_held_out] * len(rows),
                source=[names[h] for h, _ in rows],
                target=[names[t] for _, t in rows],
                relation=[int(relation)] * len(rows),
                weight=[1.0] * len(rows),
            )


def _names(folder: Path) -> dict[int, str]:
    path = folder / "id2ent.pkl"
    if not path.exists():
        raise InputError(f"{folder}: no id2ent.pkl; a released folder holds the item names there")
    pairs = pickles.load(path)
    if not isinstance(pairs, list) or not all(
        isinstance(p, list) and len(p) == 2 and isinstance(p[0], int) and isinstance(p[1], str) for p in pairs
    ):
        raise InputError(f"{path.name}: expected a dict of number -> item id")
    return dict(pairs)


class _Reader:
    def __init__(self, folder: Path, names: dict[int, str], staging: Staging) -> None:
        self.folder, self.names, self.rejects = folder, names, staging.rejects

    def records(self, name: str) -> Iterator[tuple[int, list[int]]]:
        path = self.folder / name
        if not path.exists():
            raise InputError(f"{self.folder}: no {name}; a released folder holds lowOrder/ and highOrder/")
        for line in read_lines(path):
            self.rejects.lines[name] += 1
            try:
                fields = [int(field) for field in (line.text or b"x").split()]
            except ValueError:
                self.rejects.reject(name, "not numbers", line.number)
                continue
            items = fields[1:3] + fields[4:] if fields[:1] == [-3] else fields[:1] + fields[-1:]
            if any(item not in self.names for item in items):
                self.rejects.reject(name, "unknown item number", line.number)
                continue
            yield line.number, fields

    def reject(self, name: str, line: int) -> None:
        self.rejects.reject(name, "not a known record shape", line)


def _pickled(path: Path) -> set[Triplet]:
    """Low and high triplets of an answers pickle; plain link queries are passed over."""
    found: set[Triplet] = set()
    try:
        for query, answers in pickles.load(path):
            match query:
                case [[int(q), [0]], [int(), [2, -2]]]:
                    found.update((q, answer) for answer in answers)
                case [[[int(first), [-3]], [int(second), [-3]]], [0]]:
                    found.update((first, second, answer) for answer in answers)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path.name}: expected a dict of query -> answers ({error})") from error
    return found
