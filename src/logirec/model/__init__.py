"""Embeddings and operators put together, and the folder a trained model is kept in. Knows nothing of the data."""
