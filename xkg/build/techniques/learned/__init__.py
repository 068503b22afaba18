"""A choice among all candidates of a paper by a fitted model, beside the rules of structure."""
