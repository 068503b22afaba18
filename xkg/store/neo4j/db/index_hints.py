"""Nodes by what they are indexed by, whatever the server believes of their number.

Neo4j counts what is in an index now and then, in the background. What it plans before that, as for a graph that is
being filled, takes an index for empty and reads all of it for each row; and a plan that is kept stays so.
"""


def seek(variable: str, label: str, value: str, pattern: str = "", by: str = "id") -> str:
    """The clause that finds a node by its index, and the edges of `pattern` from it on."""
    return f"MATCH ({variable}:{label} {{{by}: {value}}}){pattern} USING INDEX SEEK {variable}:{label}({by})"
