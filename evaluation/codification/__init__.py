"""Evaluates `xkg implement`: counts runs by mode and class, and rates their quality (`python -m
evaluation.codification`)."""
