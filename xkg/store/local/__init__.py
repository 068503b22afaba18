"""The embedded store: bundles as truth, immutable generations, layers for copies.

May import: indexes, concepts, cypher, and what lies below store.
"""
