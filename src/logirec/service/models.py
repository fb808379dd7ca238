"""The model that is being served, and how another one takes its place without a request noticing."""

import logging
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from logirec.errors import LogiRecError
from logirec.folders import MANIFEST, sha256
from logirec.model.artifact import ITEMS
from logirec.model.catalogue import Item
from logirec.recommender.recommender import Recommender
from logirec.service.first_items import first_items
from logirec.service.origin import Origin, origin

log = logging.getLogger("logirec.service")


@dataclass(frozen=True)
class Served:
    recommender: Recommender
    words: Path  # where titles are searched
    sha256: str  # of the model's manifest
    since: float
    first: tuple[Item, ...]  # to begin with
    origin: Origin


class Models:
    """`path` is a model folder, or a link to one: the pointer that is changed to serve another model."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.current = _load(path)
        self.refused: str | None = None  # the manifest of a newer model that could not be loaded
        self._loading = threading.Lock()

    def refresh(self) -> bool:
        """Serve what the path leads to now, if that is another model. A model that is not sound is refused."""
        with self._loading:
            try:
                found = sha256(self.path.resolve() / MANIFEST)
            except OSError:
                return False  # between two models there may be none for a moment
            if found in (self.current.sha256, self.refused):
                return False
            try:
                self.current = _load(self.path)  # one assignment: a batch has the old model or the new one
            except (LogiRecError, OSError) as error:
                self.refused = found
                log.error("the new model is refused, the old one goes on serving: %s", error)
                return False
            log.info("now serving model %s", self.current.sha256[:12])
            return True


def _load(path: Path) -> Served:
    folder = path.resolve()  # the link may be changed while we read
    recommender = Recommender.load(folder)
    first = first_items(recommender.trained)
    return Served(recommender, folder / ITEMS, sha256(folder / MANIFEST), time.time(), first, origin(folder))
