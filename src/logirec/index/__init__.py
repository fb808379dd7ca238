"""The catalogue, ready to be searched: queries in, the best items out."""
