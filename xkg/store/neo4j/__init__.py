"""A graph on a Neo4j server (5.26 or later). Each paper's bundle is stored there; its nodes are derived.

May import: the other packages of store."""
