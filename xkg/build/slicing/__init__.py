"""Extracts a symbol and its dependencies from a repository as a single runnable module.

May import from `code` and any layer below `build`."""
