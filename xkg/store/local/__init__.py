"""The embedded store: bundles as the source of truth, immutable generations, and local copies of a server's graph.

May import from `indexes`, `concepts`, `cypher`, and any layer below `store`."""
