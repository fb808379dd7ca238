"""Pure maths: Beta embeddings, the three operators, and the divergence as an inner product. Knows torch only."""
