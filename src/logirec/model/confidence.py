"""A recommendation's confidence, from curves that were fitted on validation."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from logirec.logic.beta import Beta

NOTHING_KNOWN = (1 / 12) ** 0.5  # standard deviation of Beta(1, 1)


class Curve:
    """Rises with the log-probability that the model gives an item at the fitted temperature."""

    def __init__(self, fitted: dict[str, Any]) -> None:
        self.temperature = float(fitted["temperature"])
        self.knows = bool(fitted["knows"])  # what links say is right was left out of the ranking, being sure
        self.at, self.values = (np.array(fitted[name], dtype=float) for name in ("log_probability", "confidence"))
        if not len(self.at) or self.at.shape != self.values.shape or (np.diff(self.values) < 0).any():
            raise ValueError("a curve of confidence that does not rise")

    def confidence(self, scores: np.ndarray, normaliser: float) -> np.ndarray:
        """Scores (K,) of items; `normaliser` is logsumexp(temperature * scores) over all that could be shown."""
        log_probability = scores * self.temperature - normaliser
        found: np.ndarray = np.interp(log_probability, self.at, self.values)
        return found


def uncertainty(items: Beta) -> Tensor:
    """(B,) how little an embedding says: the mean spread of its distributions, about 1 for one that knows nothing."""
    total = items.alpha + items.beta
    variance = items.alpha * items.beta / (total**2 * (total + 1))
    return torch.sqrt(variance).mean(-1) / NOTHING_KNOWN
