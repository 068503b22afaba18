"""Parses titles, addresses and ids, and makes text safe to store and print.

This package must not import from the rest of xkg."""
