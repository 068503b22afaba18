"""Lines of a repository beside the lines that readers marked. Used by `python -m evaluation.grounding`."""
