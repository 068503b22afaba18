"""The embedded store: bundles as the source of truth, immutable generations, copies of graphs on a server.

May import: indexes, concepts, cypher, and the layers below store."""
