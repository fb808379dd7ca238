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


def draw_reliability(trust: dict[str, Any], path: Path) -> None:
    """How sure the model said it was against how often it was right; on the diagonal they are the same."""
    figure, axis = plt.subplots(figsize=(5, 5), layout="constrained")
    axis.plot([0, 1], [0, 1], color="#999999", linewidth=1)
    for (kind, found), style in zip(trust.items(), ("o--", "s:"), strict=False):
        bins = found["bins"]
        label = f"{kind} queries, mean distance {found['expected_error']:.3f}"
        points = [row["confidence"] for row in bins], [row["share"] for row in bins]
        axis.plot(*points, style, color=COLOURS[kind], label=label)
    axis.set(xlabel="confidence", ylabel="share that were answers, on test", xlim=(0, 1), ylim=(0, 1))
    axis.legend()
    _plain(axis)
    _save(figure, path)


# Comparisons -------------------------------------------------------------------------------------------------------

_NAMED = ["#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
_MARKS = ["o", "s", "^", "D", "v", "P", "X"]
_KS = (1, 3, 5, 10, 20)
_KIND_WORDS = {"low": "one item asked", "high": "sets asked"}


def draw_hits(result: dict[str, Any], path: Path) -> None:
    """Hit@k over k, the best models named, the others in grey."""
    kinds = _kinds(result)
    figure, axes = plt.subplots(1, len(kinds), figsize=(5.5 * len(kinds), 4.5), layout="constrained", squeeze=False)
    named = _best(result, kinds)
    for axis, kind in zip(axes[0], kinds, strict=True):
        for name, found in result["models"].items():
            if not found.get(kind):
                continue
            hits = [found[kind]["filtered"][f"hit@{k}"] for k in _KS]
            if name in named:
                at = named.index(name)
                axis.plot(_KS, hits, color=_NAMED[at], marker=_MARKS[at], label=name, zorder=3)
            else:
                axis.plot(_KS, hits, color="#bbbbbb", linewidth=1)
        axis.set_xscale("log")
        axis.set_xticks(_KS, [str(k) for k in _KS])
        axis.minorticks_off()
        axis.set(title=_KIND_WORDS[kind], xlabel="k", ylabel="Hit@k, filtered", ylim=(0, None))
        _plain(axis)
    handles, labels = axes[0][0].get_legend_handles_labels()
    if len(named) < len(result["models"]):
        handles, labels = [*handles, plt.Line2D([], [], color="#bbbbbb", linewidth=1)], [*labels, "others"]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    _save(figure, path)


def draw_asymmetry(result: dict[str, Any], path: Path) -> None:
    """Degree of asymmetry against Hit@3, NDCG@3 and MRR for one item, a labelled point per model."""
    kind = "low" if "low" in _kinds(result) else "high"
    metrics = {"Hit@3": "hit@3", "NDCG@3": "ndcg@3", "MRR": "mrr"}
    figure, axes = plt.subplots(3, 1, figsize=(8, 13), layout="constrained")
    for axis, (title, metric) in zip(axes, metrics.items(), strict=True):
        points = {
            name: (found["asymmetry"]["degree"], found[kind]["filtered"][metric])
            for name, found in result["models"].items()
            if found.get(kind)
        }
        axis.set(xlabel="degree of asymmetry", ylabel=f"{title}, filtered", xlim=(-0.15, 1.15))
        _scatter(axis, points, _ours(result))
    _save(figure, path)


def draw_costs(result: dict[str, Any], path: Path) -> None:
    """Seconds to fit against MRR."""
    kinds = _kinds(result)
    figure, axes = plt.subplots(len(kinds), 1, figsize=(8, 4.5 * len(kinds)), layout="constrained", squeeze=False)
    for axis, kind in zip(axes[:, 0], kinds, strict=True):
        points = {
            name: (max(0.001, found["fit_seconds"]), found[kind]["filtered"]["mrr"])
            for name, found in result["models"].items()
            if found.get(kind)
        }
        axis.set_xscale("log")
        axis.set(title=_KIND_WORDS[kind], xlabel="seconds to fit, log scale", ylabel="MRR, filtered")
        _scatter(axis, points, _ours(result))
    _save(figure, path)


def _ours(result: dict[str, Any]) -> set[str]:
    return {name for name, found in result["models"].items() if found["ours"]}


def _kinds(result: dict[str, Any]) -> list[str]:
    return [kind for kind in ("low", "high") if any(found.get(kind) for found in result["models"].values())]


def _best(result: dict[str, Any], kinds: list[str]) -> list[str]:
    """The models that are named where there are too many: best in MRR over the kinds."""
    models = result["models"]
    total = {name: sum(found[k]["filtered"]["mrr"] for k in kinds if found.get(k)) for name, found in models.items()}
    return sorted(total, key=lambda name: -float(total[name]))[: len(_NAMED)]


def _scatter(axis: Any, points: dict[str, tuple[float, float]], ours: set[str]) -> None:
    """Ours as squares, the others as circles; each label where it covers no other."""
    for name, (x, y) in points.items():
        marker, colour = ("s", "#D55E00") if name in ours else ("o", "#0072B2")
        axis.plot(x, y, marker, color=colour, markersize=7, zorder=3)
    axis.margins(0.12)
    _plain(axis)
    axis.figure.canvas.draw()
    renderer = axis.figure.canvas.get_renderer()
    room = axis.get_window_extent(renderer)
    taken = [_box(*axis.transData.transform(point)) for point in points.values()]
    around = [(9, 0, "left"), (-9, 0, "right"), (0, 11, "center"), (0, -11, "center")]
    around += [
        (s * 9, v * step, "left" if s > 0 else "right") for step in (14, 26, 38, 50) for v in (1, -1) for s in (1, -1)
    ]
    for name, point in sorted(points.items(), key=lambda item: -item[1][1]):
        for x, y, side in around:
            label = axis.annotate(
                name, point, xytext=(x, y), textcoords="offset points", ha=side, va="center", fontsize=8
            )
            box = label.get_window_extent(renderer)
            inside = all(room.contains(*corner) for corner in (box.min, box.max))
            if inside and not any(box.overlaps(other) for other in taken):
                break
            label.remove()
        else:
            label = axis.annotate(name, point, xytext=(9, 0), textcoords="offset points", va="center", fontsize=8)
            box = label.get_window_extent(renderer)
        taken.append(box)


def _box(x: float, y: float, around: float = 5) -> Any:
    return matplotlib.transforms.Bbox.from_extents(x - around, y - around, x + around, y + around)


def _plain(axis: Any) -> None:
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)


def _save(figure: Any, path: Path) -> None:
    with matplotlib.rc_context({"svg.hashsalt": "logirec", "svg.fonttype": "none"}):  # the same bytes every time
        figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
