"""How links and queries are split, one file per protocol. Each gives the same Parts."""
