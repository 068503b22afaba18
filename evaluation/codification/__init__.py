"""Measures `xkg implement`: runs by mode and class, and judged quality (`python -m evaluation.codification`)."""
