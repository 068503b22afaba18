"""Ablates the graph itself, using any score that a command prints: `python -m evaluation.study`."""
