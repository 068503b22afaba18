"""Looks up nodes through an index, regardless of the server's statistics.

Neo4j updates its index counts in the background. A query planned before an update assumes that the index is empty, and
scans all nodes for each row. This affects queries that are planned while a graph is being filled. Neo4j even caches
such query plans."""


def seek(variable: str, label: str, value: str, pattern: str = "", by: str = "id") -> str:
    """Returns a clause that finds a node through its index and follows `pattern` from it."""
    return f"MATCH ({variable}:{label} {{{by}: {value}}}){pattern} USING INDEX SEEK {variable}:{label}({by})"
