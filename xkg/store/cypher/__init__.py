"""Cypher that others write: the guard, named queries, the confined process that runs them.

May import: what lies below store.
"""
