"""Suggests names in the graph for unknown names in a failed statement."""

import difflib
import re
from functools import cache
from itertools import chain

from xkg.store.cypher.named_queries import embedded_schema

TABLE = re.compile(r"CREATE (NODE|REL) TABLE (\w+) \(((?:[^)]|\)(?!;)){0,4000}+)\);")
_COLUMN = re.compile(r"(?<!\w)`?+(\w++)`?+ [A-Z][A-Z0-9]*+")
_UNKNOWN_TABLE = re.compile(r"Table (\w+) does not exist")
_UNKNOWN_FUNCTION = re.compile(r"function (\w+) does not exist")
_UNKNOWN_VARIABLE = re.compile(r"Variable (\w+) is not in scope")
_PORTABLE = {"HEAD": "list[0]", "LAST": "list[-1]", "TAIL": "UNWIND the list"}
_UNKNOWN_COLUMN = re.compile(r"Cannot find property (\w+) for (\w+)")


def suggestion(error: str, statement: str = "") -> str:
    """Returns a suffix for an engine's error that suggests existing names, or '' if the error is about something else.
    If the variable has labels in `statement`, only their properties are suggested."""
    nodes, edges, columns = names()
    if found := _UNKNOWN_TABLE.search(error):
        is_edge = re.search(rf"\[\s*+\w*+\s*+:[^\]]*\b{found[1]}\b", statement) is not None
        near = _near(found[1], edges if is_edge else (*nodes, *edges))
        return f"; did you mean {near}?" if near else f"; nodes are {', '.join(nodes)}, edges {', '.join(edges)}"
    if found := _UNKNOWN_COLUMN.search(error):
        labels = re.findall(rf"[(\[]\s*+{found[2]}\s*+:\s*+`?+(\w++)", statement)
        own = dict.fromkeys(column for label in labels for column in _columns().get(label, ()))
        near = _near(found[1], tuple(own or columns))
        return f"; did you mean {found[2]}.{near}?" if near else f"; properties are {', '.join(own or columns)}"
    if found := _UNKNOWN_FUNCTION.search(error):
        portable = _PORTABLE.get(found[1].upper())
        return f"; this works on both stores: {portable}" if portable else ""
    if (found := _UNKNOWN_VARIABLE.search(error)) and re.search(rf"\[\s*+{found[1]}\s++IN\b", statement, re.IGNORECASE):
        return "; list comprehensions only work on Neo4j; on both stores, UNWIND the list, then collect()"
    return ""


def unknown_name(name: str) -> str:
    """Returns the error for a label or edge type that closely resembles a name in the schema. Returns '' for any other
    name, because it may be intentional."""
    nodes, edges, _ = names()
    near = _near(name, (*nodes, *edges))
    return f"no node or edge is called {name}; did you mean {near}?" if near not in ("", name) else ""


@cache
def _columns() -> dict[str, tuple[str, ...]]:
    tables = TABLE.findall(embedded_schema())
    return {name: tuple(c for c in _COLUMN.findall(inside) if c.islower()) for _, name, inside in tables}


@cache
def names() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Returns the names of node and edge tables, and the columns of both."""
    tables = TABLE.findall(embedded_schema())
    nodes, edges = ([name for kind, name, _ in tables if kind == wanted] for wanted in ("NODE", "REL"))
    return tuple(nodes), tuple(edges), tuple(dict.fromkeys(chain.from_iterable(_columns().values())))


def _near(word: str, names: tuple[str, ...]) -> str:
    by_key = {name.casefold(): name for name in names}
    found = difflib.get_close_matches(word.casefold(), by_key, n=1, cutoff=0.6)
    return by_key[found[0]] if found else ""
