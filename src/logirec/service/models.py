"""The model that is being served, and how another one takes its place without a request noticing."""

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from logirec.folders import MANIFEST, sha256
from logirec.memory import exempt_from_collection
from logirec.model.artifact import ITEMS
from logirec.model.catalogue import Item, Search
from logirec.recommender.recommender import Recommender
from logirec.service.first_items import first_items
from logirec.service.origin import Origin, origin

log = logging.getLogger("logirec.service")


class Words:
    """Items by their words. The file stays open: the model's folder may go before its last request is answered."""

    def __init__(self, path: Path) -> None:
        self._thread = ThreadPoolExecutor(1, "search")  # SQLite answers in the thread that opened the file
        self._search = self._thread.submit(Search, path).result()

    def find(self, text: str, limit: int) -> list[Item]:
        return self._thread.submit(self._search.find, text, limit).result()


@dataclass(frozen=True)
class Served:
    recommender: Recommender
    words: Words
    sha256: str  # of the model's manifest
    since: float
    first: tuple[Item, ...]  # to begin with
    origin: Origin


class Models:
    """`path` is a model folder, or a link to one: the pointer that is changed to serve another model."""

    def __init__(self, path: Path, approximate: bool = False) -> None:
        self.path, self.approximate = path, approximate
        self.current = _load_aside(path, approximate)
        self.refused: object = None  # the looks of a newer model that could not be loaded, or why none could be read
        self._loading = threading.Lock()

    def refresh(self) -> bool:
        """Serve what the path leads to now, if that is another model. A model that is not sound is refused."""
        with self._loading:
            try:
                folder = self.path.resolve()
                found, looks = sha256(folder / MANIFEST), _looks(folder)
            except OSError as error:  # between two models there may be none for a moment
                if self.refused != str(error):
                    self.refused = str(error)
                    log.warning("no model to be read there, the one before goes on serving: %s", error)
                return False
            if found == self.current.sha256 or looks == self.refused:
                return False
            try:
                self.current = _load_aside(folder, self.approximate)  # at once: a batch has the one model or the other
            except Exception as error:  # whatever it is, it must not end the watch
                self.refused = looks
                log.error("the new model is refused, the old one goes on serving: %s", str(error) or repr(error))
                return False
            log.info("now serving model %s", self.current.sha256[:12])
            return True


def _looks(folder: Path) -> object:
    """Changes when any file does: a model that is still being copied is tried again."""
    return folder, {(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in folder.iterdir()}


def _load_aside(path: Path, approximate: bool) -> Served:
    """In a thread that ends with it, and its workers too.

    torch keeps workers for each thread that has computed. When there are more of them than processors they sleep after
    every step instead of waiting for the next one, and every batch takes a third longer.
    """
    with ThreadPoolExecutor(1, "load") as thread:
        return thread.submit(_load, path, approximate).result()


def _load(path: Path, approximate: bool) -> Served:
    folder = path.resolve()  # the link may be changed while we read
    manifest = folder / MANIFEST  # read first: if the folder is replaced meanwhile, the next look sees another one
    found = sha256(manifest) if manifest.is_file() else ""  # without one, loading says what is wrong
    recommender = Recommender.load(folder, approximate=approximate)
    # What a first request has made for the others takes seconds: before anyone waits for it.
    recommender.recommend([recommender.trained.vocabulary.item_ids[0]])
    first = first_items(recommender.trained)
    exempt_from_collection()
    return Served(recommender, Words(folder / ITEMS), found, time.time(), first, origin(folder))
