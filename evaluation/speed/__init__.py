"""Measures speed, memory and size, each alongside a floor, a peer or a budget from the same run: `python -m
evaluation.speed[.NAME]`."""
