"""A basket filled line by line, for `logirec recommend --interactive`. Tab completes titles."""

import contextlib
import re
from dataclasses import replace
from pathlib import Path

from logirec.errors import LogiRecError
from logirec.model.artifact import ITEMS
from logirec.model.catalogue import Item, Search
from logirec.query import Query, parse
from logirec.recommender.answers import Request
from logirec.recommender.recommender import Recommender
from logirec.reports.tables import show_answer, show_line

HELP = "an item by title or id (Tab completes) | drop ITEM | clear | query TEXT | exit (or Ctrl-D)"
CHOICES = 8


class Shell:
    """What a line does; `lines` is all that is said back besides answers."""

    def __init__(self, recommender: Recommender, search: Search, request: Request) -> None:
        """`request`: how every basket is asked about."""
        self.recommender, self.search, self.request = recommender, search, request
        self.basket: dict[str, str] = {}  # id -> how it is shown

    def complete(self, text: str) -> list[str]:
        return [_shown(item) for item in self.search.find(text, CHOICES)] if text.strip() else []

    def do(self, line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        try:
            if word == "clear" and not rest:
                self.basket.clear()
                show_line("the basket is empty")
            elif word == "query" and rest:
                self._answer(parse(rest))
            elif word == "drop" and rest:
                self._drop(rest.strip())
            elif line.strip() and line.strip() != "help":
                self._add(line.strip())
            else:
                show_line(HELP)
        except LogiRecError as error:
            show_line(str(error))

    def _add(self, text: str) -> None:
        item = self._one(text)
        if item is not None:
            self.basket[item.item_id] = _shown(item)
            self._changed()

    def _drop(self, text: str) -> None:
        """What the basket holds of that id or name, or with that in its name."""
        fits = [one for one, shown in self.basket.items() if text.casefold() in shown.casefold()]
        exact = [one for one in fits if text == one or self.basket[one] in (text, f"{text} [{one}]")]
        named = exact or fits
        if len(named) != 1:
            show_line("which of: " + " | ".join(self.basket[one] for one in named) if named else "not in the basket")
            return
        del self.basket[named[0]]
        self._changed()

    def _changed(self) -> None:
        show_line("basket: " + (", ".join(self.basket.values()) or "empty"))
        if self.basket:
            self._answer()

    def _answer(self, query: Query | None = None) -> None:
        (answer,) = self.recommender.recommend_many([replace(self.request, basket=list(self.basket), query=query)])
        show_answer(answer)

    def _one(self, text: str) -> Item | None:
        """The item of that id, or of that title, or the only one that fits."""
        catalogue = self.recommender.trained.catalogue
        bracketed = re.search(r"\[([^\]]+)\]$", text)
        for item_id in (text, bracketed[1] if bracketed else ""):
            if item_id in catalogue.vocabulary:
                return catalogue.item(int(catalogue.vocabulary.rows([item_id])[0]))
        found = self.search.find(text, CHOICES)
        exact = [item for item in found if item.title and item.title.casefold() == text.casefold()]
        if len(exact) == 1 or len(found) == 1:
            return (exact or found)[0]
        said = "which of: " + " | ".join(map(_shown, found)) if found else "nothing like it in the catalogue"
        show_line(said)
        return None


def _shown(item: Item) -> str:
    return f"{item.title} [{item.item_id}]" if item.title else item.item_id


def run_shell(recommender: Recommender, model: Path, request: Request) -> None:
    with contextlib.closing(Search(model / ITEMS)) as search:
        shell = Shell(recommender, search, request)
        _complete_with(shell)
        show_line(HELP)
        with contextlib.suppress(EOFError):
            while (line := input("> ")).strip() not in ("exit", "quit"):
                shell.do(line)


def _complete_with(shell: Shell) -> None:
    try:
        import readline
    except ImportError:  # a Python without it: lines still work, Tab does not
        return

    def complete(text: str, state: int) -> str | None:
        start = "drop " if text.startswith("drop ") else ""
        found = shell.complete(text.removeprefix(start))
        return start + found[state] if state < len(found) else None

    readline.set_completer_delims("")
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
