"""Tools for questions across papers: the graph's tables, and queries over them."""

from typing import Annotated, Any

from mcp.server import MCPServer
from pydantic import Field

from xkg.serve.answers import CypherAnswer, SchemaAnswer
from xkg.serve.service import Service
from xkg.serve.tools.registering import registering


def add(server: MCPServer, service: Service) -> None:
    tool = registering(server)

    @tool("Graph schema")
    def graph_schema() -> SchemaAnswer:
        """The graph's tables and edges as statements, the number of papers, and for cypher the named queries (name,
        parameters, what it answers) and example statements."""
        return service.schema()

    @tool("Cypher")
    def cypher(
        query: Annotated[
            str,
            Field(
                min_length=1,
                max_length=20_000,
                description="name of a query that graph_schema lists, or one reading openCypher statement",
            ),
        ],
        parameters: Annotated[
            dict[str, Any],
            Field(
                description="values of the query's parameters, or for $names: null, booleans, numbers, strings, or "
                "lists of these"
            ),
        ] = {},  # noqa: B006
        limit: Annotated[int, Field(ge=1, le=1000, description="most rows to answer")] = 100,
    ) -> CypherAnswer:
        """Asks the graph a named query, such as component-tree with {"paper": "arxiv:1608.04471"}, or runs one reading
        Cypher statement: MATCH, OPTIONAL MATCH, WHERE, WITH, UNWIND, RETURN, ORDER BY, SKIP, LIMIT, UNION, and CALL of
        show_tables, table_info and the like. Names that are keywords stand in backticks, as in r.`order`. It ends after
        10 seconds. graph_schema tells the named queries and the tables."""
        return service.cypher(query, parameters, limit)
