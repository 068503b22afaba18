"""Ablations of the graph itself, on any score that a command prints: `python -m evaluation.study`."""
