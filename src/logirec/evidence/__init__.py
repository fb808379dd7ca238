"""What training data, read directly, has to say of pairs of items: gathered, weighed on validation, added to scores."""
