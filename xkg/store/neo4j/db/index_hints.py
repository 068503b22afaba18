"""Node look-ups that use an index, regardless of the server's statistics.

Neo4j updates its index counts in the background. A plan made before an update, for example while a graph is being
filled, assumes an empty index and scans all nodes for each row; and plans are cached."""


def seek(variable: str, label: str, value: str, pattern: str = "", by: str = "id") -> str:
    """The clause that finds a node through its index and follows `pattern` from it."""
    return f"MATCH ({variable}:{label} {{{by}: {value}}}){pattern} USING INDEX SEEK {variable}:{label}({by})"
