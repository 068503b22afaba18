"""Handles untrusted Cypher: the guard, named queries, and the confined process that runs statements.

May import: the layers below store."""
