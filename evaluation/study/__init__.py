"""Ablations of the graph itself, with any score that a command prints: `python -m evaluation.study`."""
