"""Handles untrusted Cypher: the guard, named queries, and the confined process for running statements.

May import: the layers below store."""
