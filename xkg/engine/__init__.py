"""Runs work items on this machine or on a Ray cluster. An item may be a paper to build or an ablation candidate, and
this package treats both alike.

This package may import settings, errors and files."""
