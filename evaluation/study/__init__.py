"""Ablates the graph itself, and measures the effect by the score that a command prints: `python -m
evaluation.study`."""
