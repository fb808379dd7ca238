"""Full-catalogue ranking, metrics and the degree of asymmetry, for anything that gives scores."""
