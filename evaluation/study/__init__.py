"""Ablates the graph itself, and measures the effect by a score that a command prints: `python -m evaluation.study`."""
