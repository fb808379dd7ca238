"""Results of a comparison as files: each is there whole or not at all, and says what it hangs on.

NAME.json   figures, settings tried, cost
NAME.npz    metrics of each test query, for paired intervals
models/     LogiRec's own model folders
"""

import json
import os
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from logirec.errors import UsageError
from logirec.folders import write_aside


class Result(NamedTuple):
    record: dict[str, Any]
    per_query: dict[str, np.ndarray]  # "low.filtered.mrr" -> (Q,)


class Results:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: results cannot be kept there ({error.strerror})") from error

    def load(self, name: str, key: str) -> Result | None:
        """None where there is none with this key: made from other data or settings, or cut short."""
        try:
            record = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
            with (self.folder / f"{name}.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                values = dict(arrays)
            if record.pop("key") == key == str(values.pop("key")):
                return Result(record, values)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile):
            pass
        return None

    def save(self, name: str, key: str, result: Result) -> Result:
        path = self.folder / f"{name}.npz"
        aside = path.with_name(f".{name}.{os.getpid()}.npz")
        arrays: dict[str, Any] = {"key": np.array(key), **result.per_query}
        np.savez_compressed(aside, **arrays)
        aside.replace(path)
        text = json.dumps({"key": key, **result.record}, indent=1)
        write_aside(self.folder / f"{name}.json", text + "\n")
        return Result({k: v for k, v in json.loads(text).items() if k != "key"}, result.per_query)  # as when read again
