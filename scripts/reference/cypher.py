"""Generates the schema and named query references."""

from collections.abc import Iterable

from scripts.reference.markdown import fenced, page, table
from xkg.store.cypher import named_queries


def schema() -> str:
    folder = named_queries.folder() / "schema"
    neo4j = sorted((folder / "neo4j").glob("*.cypher"))
    return page(
        "Cypher schema",
        "cypher/schema",
        [
            "For the meaning of nodes and edges, see [The graph](graph.md). The labels, properties and edges are the "
            "same on both stores.",
            "## Tables of the embedded store",
            fenced(named_queries.embedded_schema(), "cypher"),
            "## Constraints and indexes on Neo4j",
            *(fenced(path.read_text(encoding="utf-8"), "cypher") for path in neo4j),
        ],
    )


def queries() -> str:
    parts = [
        "Each query is a file in `cypher/explore`. It works on both stores, on the command line "
        "(`xkg cypher NAME --param NAME=VALUE`) and for agents (the `cypher` tool). See "
        "[how to run queries](../howto/neo4j.md#ask-in-cypher)."
    ]
    for group in named_queries.GROUPS:
        parts.append(f"## {group.capitalize()}")
        for query in named_queries.queries():
            if query.group == group:
                parts += [f"### {query.name}", query.summary, _parameters(query.parameters)]
                parts += [fenced(query.example, "sh"), fenced(query.statements["embedded"], "cypher")]
    return page("Named queries", "cypher/explore", parts)


def _parameters(parameters: Iterable[named_queries.Parameter]) -> str:
    rows = [
        (f"`{p.name}`", p.type, "required" if p.default is None else f"`{p.default}`", p.description)
        for p in parameters
    ]
    return table(("parameter", "type", "default", "description"), rows) if rows else ""
