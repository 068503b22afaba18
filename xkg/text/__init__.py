"""Parses titles, addresses and ids, and makes text safe to store and print.

Must not import from the rest of xkg."""
