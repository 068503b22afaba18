"""Handles untrusted Cypher: the guard, named queries, and the sandboxed process that runs statements.

This package may import from any layer below `store`."""
