"""The embedded store: bundles as the source of truth, immutable generations, layers for copies.

May import: indexes, concepts, cypher, and the layers below store."""
