"""A graph on a Neo4j server (5.26 or later), which stores each paper's bundle and nodes derived from the bundle.

May import from the other packages in `store`."""
