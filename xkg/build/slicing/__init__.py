"""Extracts a symbol and its dependencies from a repository as a single runnable module.

May import: code, and the layers below build."""
