"""Benchmarks and quality measurements, each run with `python -m evaluation.<name>`."""
