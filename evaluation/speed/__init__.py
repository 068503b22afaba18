"""Measures speed, memory and size, and compares each with a floor, a peer or a budget from the same run: `python -m
evaluation.speed[.NAME]`."""
