"""Models to beat, each a short file: fit a dataset, then score baskets."""
