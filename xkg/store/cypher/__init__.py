"""Handles untrusted Cypher: the guard, named queries, and the sandboxed process that runs statements.

May import from any layer below `store`."""
