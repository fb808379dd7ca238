"""From raw files to a dataset that can be trusted. Never torch."""
