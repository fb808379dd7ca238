"""Pictures, drawn without a screen."""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

# Okabe and Ito's colours: told apart by colour-blind eyes and on grey paper.
COLOURS = {"all": "#000000", "low": "#0072B2", "high": "#D55E00"}


def draw_curves(history: list[dict[str, Any]], path: Path) -> None:
    """Loss and validation MRR over the steps."""
    steps = [record["step"] for record in history]
    figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 6), layout="constrained")
    above.plot(steps, [record["loss"] for record in history], color=COLOURS["all"])
    above.set_ylabel("training loss")
    curves = {"all": "valid_mrr", "low": "valid_low_mrr", "high": "valid_high_mrr"}
    styles = {"all": "-", "low": "--", "high": ":"}
    shown = {name: key for name, key in curves.items() if key in history[0]}
    if len(shown) == 2:  # one kind alone is the mean
        del shown["all"]
    for name, key in shown.items():
        label = "mean" if name == "all" else f"{name} queries"
        below.plot(steps, [record[key] for record in history], styles[name], color=COLOURS[name], label=label)
    best = max(history, key=lambda record: float(record["valid_mrr"]))
    below.axvline(best["step"], color="#999999", linewidth=1)
    left = best["step"] < (steps[0] + steps[-1]) / 2  # the label goes where there is room
    place = {"xytext": (4 if left else -4, 4), "textcoords": "offset points", "ha": "left" if left else "right"}
    below.annotate(f"best: step {best['step']:,}", (best["step"], below.get_ylim()[0]), **place)
    below.set_ylabel("validation MRR (filtered)")
    below.set_xlabel("step")
    below.legend()
    for axes in (above, below):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)
    plt.close(figure)
