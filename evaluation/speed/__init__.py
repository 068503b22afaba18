"""Measures speed, memory and size. Each figure is shown next to the lowest possible cost, a comparable program or a
budget: `python -m evaluation.speed[.NAME]`."""
