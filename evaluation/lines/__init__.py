"""Compares located lines of a repository with lines that readers marked. Used by `python -m evaluation.grounding`."""
