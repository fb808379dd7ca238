"""From a dataset's training queries to trained weights. Validation is passed in as a function."""
