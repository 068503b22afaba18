"""Slices a symbol with its dependencies out of a repository, as one module that runs.

May import: code, and what lies below build.
"""
