"""Search on Neo4j's own indexes.

May import: db, indexes, and what lies below store.
"""
