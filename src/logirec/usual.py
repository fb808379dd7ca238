"""What each table of evidence usually counts through each curve of weighing.py, for single items and sets.

Made by benchmarks/usual.py, the mean over gift-cards, grocery, magazines, office, video-games.
A shop with few queries of its own stays near this.
"""

from logirec.data.query_sets import Kind

USUAL: dict[Kind, dict[str, tuple[float, float, float]]] = {
    "low": {
        "ease": (0.03, 0.29, 0.50),
        "row cosine": (0.63, 0.13, 0.86),
        "regression": (-0.15, 0.65, 0.66),
        "regression backwards": (0.03, 0.52, 0.29),
        "past views": (-0.06, 0.10, -0.05),
        "shared neighbours": (0.02, 0.07, 0.44),
        "bought": (0.00, 0.00, 0.00),
        "sold": (-0.19, -0.76, -0.28),
        "viewed": (0.04, 0.14, 0.05),
        "opinions": (-0.38, 0.43, 0.09),
    },
    "high": {
        "ease": (-0.32, 0.00, 0.66),
        "row cosine": (-0.07, 0.94, 0.78),
        "regression": (-0.90, 0.77, 0.98),
        "regression backwards": (-0.69, 0.74, 0.22),
        "past views": (0.04, -0.15, 0.05),
        "shared neighbours": (-0.12, -0.25, 0.76),
        "bought": (0.06, 0.23, 0.09),
        "sold": (-0.05, -0.21, -0.08),
        "viewed": (0.05, 0.21, 0.08),
        "opinions": (-0.30, 0.11, 0.26),
    },
}
