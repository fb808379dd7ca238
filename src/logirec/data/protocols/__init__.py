"""How links and queries are split, one file per protocol. Each writes the same parts of a dataset."""
