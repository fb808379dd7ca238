"""Who takes part in a comparison: the baselines, and LogiRec's recipes by name."""

from collections.abc import Callable, Iterable

from logirec.baselines.registry import BASELINES
from logirec.config import Recipe, recipe
from logirec.errors import UsageError

_STOPS = {"training": {"patience": 10_000, "keep_best": True}}  # else the paper's runs go on long after their best

LOGIREC: dict[str, tuple[str, Callable[[int], Recipe]]] = {
    "betae": (
        "the paper's model, a set being the intersection of its members' projections",
        lambda seed: recipe("paper", "hybrid", seed, {**_STOPS, "model": {"sets": "members"}}),
    ),
    "logirec-paper-low": ("the paper's, low queries only", lambda seed: recipe("paper", "low", seed, _STOPS)),
    "logirec-paper-high": ("the paper's, high queries only", lambda seed: recipe("paper", "high", seed, _STOPS)),
    "logirec-paper-hybrid": ("the paper's, both", lambda seed: recipe("paper", "hybrid", seed, _STOPS)),
    "logirec-default": ("ours", lambda seed: recipe("default", "hybrid", seed)),
    "logirec-best": ("ours, four models", lambda seed: recipe("best", "hybrid", seed)),
    "logirec-raw": ("ours, for raw ranking", lambda seed: recipe("raw", "hybrid", seed)),
}
OURS = "logirec-"  # the others are what we compare with
_DAYS = "trains for days on a CPU"
SLOW = {name: _DAYS for name in LOGIREC if "paper" in name} | {"betae": _DAYS, "logirec-best": "trains four models"}
SPECIAL = {"logirec-raw": "ranks what is known last, as raw ranking rewards"}
NAMES = (*BASELINES, *LOGIREC)


def says() -> dict[str, str]:
    """What each model is, in a line."""
    return {name: entry.says for name, entry in BASELINES.items()} | {name: line for name, (line, _) in LOGIREC.items()}


def choose(asked: Iterable[str], device: str) -> tuple[list[str], dict[str, str]]:
    """Those asked for, or all that the device can train; and who is left out, with the reason."""
    asked = list(dict.fromkeys(asked))
    unknown = [name for name in asked if name not in NAMES]
    if unknown:
        raise UsageError(f"--models {', '.join(unknown)}: not among {', '.join(NAMES)}")
    if asked:
        return asked, {}
    without = SPECIAL | (SLOW if device == "cpu" else {})
    left_out = {name: f"{why}; name it with --models to have it all the same" for name, why in without.items()}
    return [name for name in NAMES if name not in without], left_out
