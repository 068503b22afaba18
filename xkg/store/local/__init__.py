"""The embedded store: bundles as the source of truth, immutable generations, and copies of graphs from a server.

May import: indexes, concepts, cypher, and the layers below store."""
