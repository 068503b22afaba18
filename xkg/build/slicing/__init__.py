"""Extracts a symbol and its dependencies from a repository as one module that runs.

May import: code, and what lies below build."""
