"""Tools for questions across papers: the graph's schema and Cypher queries."""

from typing import Annotated, Any

from mcp.server import MCPServer
from pydantic import Field

from xkg.errors import InputError
from xkg.serve.answers.paging import Page, on_page
from xkg.serve.answers.types import CypherAnswer, SchemaAnswer
from xkg.serve.service import Service
from xkg.serve.tools.tool_decorator import Cursor, Detail, registering

MOST_ROWS = 10_000


def add(server: MCPServer, service: Service) -> None:
    tool = registering(server, service)

    @tool("Graph schema")
    def graph_schema(detail: Detail = "concise") -> SchemaAnswer:
        """Returns the graph's tables and edges as Cypher patterns (columns without a type are strings), the number of
        papers, the named queries for cypher with parameters, and an example. Full includes the statements that created
        the tables, and the purpose of each named query: use it before you write your own statement."""
        return service.schema(full=detail == "full")

    @tool("Cypher")
    def cypher(
        query: Annotated[
            str,
            Field(
                min_length=1,
                max_length=20_000,
                description="name of a query listed by graph_schema, or one read-only openCypher statement",
            ),
        ],
        parameters: Annotated[
            dict[str, Any],
            Field(
                description="values for the query's parameters or for $names: null, booleans, numbers, strings, or "
                "lists of these"
            ),
        ] = {},  # noqa: B006
        limit: Annotated[int, Field(ge=1, le=1000, description="maximum rows")] = 100,
        cursor: Cursor = None,
        detail: Detail = "concise",
    ) -> CypherAnswer:
        """Runs a named query, such as component-tree with {"paper": "arxiv:1608.04471"}, or one read-only Cypher
        statement: MATCH, OPTIONAL MATCH, WHERE, WITH, UNWIND, RETURN, ORDER BY, SKIP, LIMIT, UNION, and CALL for
        show_tables, table_info and the like. Put names that are keywords in backticks, as in r.`order`. Queries time
        out after 10 seconds. graph_schema lists the named queries and the tables."""
        page = Page(cursor, "cypher", query, parameters)
        if page.reached > MOST_ROWS:
            raise InputError(f"cursors return at most {MOST_ROWS} rows; add ORDER BY, SKIP and LIMIT")
        answer = service.cypher(query, parameters, page.reached + limit)
        empty = "" if answer.rows else "nothing: no rows match; names and ids must be exact; graph_schema lists tables"
        # The service suggests ORDER BY and LIMIT to get more rows, but a named query does not accept these clauses.
        further = f"all after the first {len(answer.rows)} rows: pass the cursor" if answer.cut else ""
        answer = answer.model_copy(update={"cut": further or empty})
        return on_page(answer, page, detail, service.short_ids, further=bool(further))
