"""Stores a graph on a Neo4j server (5.26 or later). The nodes are the source of truth, from which bundles are read
back.

This package may import from the other packages in `store`."""
