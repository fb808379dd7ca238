"""Where a model comes from, as far as its folder knows."""

import json
from pathlib import Path
from typing import NamedTuple

RUN = "run.json"  # what training wrote down about itself


class Origin(NamedTuple):
    dataset: str | None = None  # its name
    trained: str | None = None  # when training began


def origin(model: Path) -> Origin:
    """Of the dataset's folder only the name: paths are nobody's business."""
    try:
        run = json.loads((model / RUN).read_text(encoding="utf-8"))
        folder = Path(run["dataset"]["folder"])
        # demo/dataset is the demo
        return Origin(folder.parent.name if folder.name == "dataset" else folder.name, str(run["started"]))
    except (OSError, ValueError, KeyError, TypeError):
        return Origin()
