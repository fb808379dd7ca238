"""The model card: what the model is, what it was made from, how well it does, what not to use it for."""

from typing import Any

from logirec.config import MAX_BASKET, MAX_TRAINING_BASKET, Recipe

NOT_VALIDATED = {
    "low": "Validation had no basket of one item: how well these are answered is not known.",
    "high": "Validation had no basket of several items: how well these are answered is not known.",
}

TOLD = {
    "valid": "Then it was told validation's links (or orders) too.",
    "test": "Then it was told all others too, of validation and test: the figures are those from before.",
}


def model_card(recipe: Recipe, dataset: dict[str, Any], metrics: dict[str, Any]) -> str:
    learnt = "single items" if recipe.variant == "low" else f"baskets of up to {MAX_TRAINING_BASKET}"
    lines = [
        "# LogiRec model",
        "",
        "Complementary products for a basket.",
        f"Variant `{recipe.variant}`, preset `{recipe.preset}`, seed {recipe.seed}.",
        f"{dataset['items']:,} items, {recipe.model.dims} Beta distributions each.",
        "",
        "## Data",
        "",
        f"Format {dataset['source']['format']}, protocol `{dataset['protocol']}`, split seed {dataset['seed']}.",
        f"Weights were learnt from training links alone.{_by_validation(recipe)}",
        *(TOLD[stage] for stage in [recipe.training.refit] if stage in TOLD),
        "",
        "## How well it does",
        "",
        f"Step {metrics['best_step']:,} of {metrics['steps']:,}, validation MRR {metrics['valid_mrr']:.3f}.",
        "On test, every item of the catalogue ranked, with 95 % intervals:",
        "",
        "| queries | ranking | count | Hit@3 | NDCG@3 | MRR | Hit@10 |",
        "|---|---|---|---|---|---|---|",
    ]
    for kind, rankings in metrics["test"].items():
        for ranking, found in rankings.items():
            cells = " | ".join(_cell(found, name) for name in ("hit@3", "ndcg@3", "mrr", "hit@10"))
            lines.append(f"| {kind} | {ranking} | {found['queries']:,} | {cells} |")
    for kind in metrics["not_validated"]:
        lines += ["", NOT_VALIDATED[kind]]
    lines += [
        "",
        "## Limits",
        "",
        "It knows the items of its catalogue and nothing of prices, stock or fit. Items that had few links in training",
        f"are recommended on little evidence. Baskets hold 1 to {MAX_BASKET} items; it learnt from {learnt}.",
        "",
    ]
    return "\n".join(lines)


def _by_validation(recipe: Recipe) -> str:
    said = [("chose the step", recipe.training.keep_best), ("weighed the evidence", recipe.model.evidence)]
    done = " and ".join(what for what, holds in said if holds)
    return f" Validation {done}." if done else ""


def _cell(found: dict[str, Any], name: str) -> str:
    low, high = found["intervals"][name]
    return f"{found[name]:.3f} ({low:.3f} to {high:.3f})"
