"""Benchmarks and quality measurements, each `python -m evaluation.<name>`."""
