"""Item ids in, explained recommendations out."""
