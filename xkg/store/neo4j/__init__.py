"""A graph on a Neo4j server (5.26 or later). The nodes there are the truth; each bundle is read back from them.

May import: the other rooms of store.
"""
