"""A graph on a Neo4j server (5.26 or later). Its nodes are the source of truth: each bundle is read back from them.

May import: the other packages of store."""
