"""Implements the embedded store. Bundles are the source of truth, and generations are immutable. This package also
keeps local copies of a server's graph.

This package may import from `indexes`, `concepts`, `cypher`, and any layer below `store`."""
