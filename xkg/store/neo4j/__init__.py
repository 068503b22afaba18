"""A graph on a Neo4j server (5.26 or later). Its nodes are the source of truth: bundles are read back from them.

May import: the other packages of store."""
