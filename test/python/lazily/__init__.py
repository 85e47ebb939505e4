"""A package that nothing imports before a node is run."""
