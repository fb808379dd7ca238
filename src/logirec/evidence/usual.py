"""What each table of evidence usually counts through each curve of places.py, for single items and sets.

Made by benchmarks/usual.py, the mean over gift-cards, grocery, magazines, office, video-games.
A shop with few queries of its own stays near this.
"""

from logirec.data.query_sets import Kind

USUAL: dict[Kind, dict[str, tuple[float, float, float]]] = {
    "low": {
        "ease": (0.03, 0.29, 0.51),
        "row cosine": (0.64, 0.13, 0.86),
        "regression": (-0.15, 0.66, 0.64),
        "regression backwards": (0.04, 0.52, 0.29),
        "past views": (-0.05, 0.09, -0.04),
        "shared neighbours": (0.02, 0.08, 0.43),
        "bought": (0.00, 0.00, 0.00),
        "sold": (-0.19, -0.75, -0.28),
        "viewed": (0.04, 0.15, 0.05),
        "opinions": (-0.38, 0.43, 0.09),
    },
    "high": {
        "ease": (-0.04, 0.03, 0.85),
        "row cosine": (0.37, 0.03, 0.28),
        "regression": (-0.19, 0.32, 0.76),
        "regression backwards": (0.09, 0.51, 0.54),
        "past views": (0.06, -0.14, 0.17),
        "shared neighbours": (-0.20, 0.09, 0.71),
        "bought": (0.53, 2.10, 0.78),
        "sold": (-0.22, -0.86, -0.32),
        "viewed": (0.10, 0.38, 0.14),
        "opinions": (-0.50, 0.29, 0.11),
    },
}
