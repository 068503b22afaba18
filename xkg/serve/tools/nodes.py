"""Tools that return a paper, a technique or code, the list of papers, the schema, and rows of Cypher queries."""

import json
from dataclasses import astuple
from typing import Annotated, Any

from mcp.server import MCPServer
from pydantic import Field

from xkg.errors import InputError
from xkg.llm.prices import tokens
from xkg.model import Level
from xkg.serve.answers.budget import TOKENS, concise, fitted
from xkg.serve.answers.paging import Page, on_page
from xkg.serve.answers.paper_list import PaperFilters, State
from xkg.serve.answers.types import (
    CodeAnswer,
    CypherAnswer,
    PaperAnswer,
    PapersAnswer,
    SchemaAnswer,
    TechniqueAnswer,
    uri,
)
from xkg.serve.context.context import ContextAnswer
from xkg.serve.service import Service
from xkg.serve.tools.tool_decorator import PAPER, Cursor, Detail, Id, filled, registering

MOST_ROWS = 10_000


def add(server: MCPServer, service: Service) -> None:
    tool = registering(server, service)

    @tool("List papers")
    def list_papers(
        text: Annotated[str, Field(max_length=300, description="words in title, id or authors")] = "",
        first_year: Annotated[int | None, Field(description="only from this year or later")] = None,
        last_year: Annotated[int | None, Field(description="only from this year or earlier")] = None,
        with_code: Annotated[bool, Field(description="only with code")] = False,
        tested: Annotated[bool, Field(description="only with code at level tested or faithful")] = False,
        state: Annotated[State | None, Field(description="state of the paper's build")] = None,
        field: Annotated[str, Field(max_length=100, description="arXiv category: cs or cs.LG")] = "",
        k: Annotated[int, Field(ge=1, le=200, description="maximum rows")] = 20,
        cursor: Cursor = None,
        detail: Detail = "concise",
    ) -> PapersAnswer:
        """Lists papers by title: id, title, year (null if unknown; year filters exclude these), origin, state, and
        number of techniques, code nodes and tested code nodes. To ask a question, use search_techniques."""
        filters = PaperFilters(
            text, (first_year, last_year), with_code, Level.TESTED if tested else None, state, field=field
        )
        page = Page(cursor, "list_papers", *astuple(filters))
        answer = service.list_papers(k + page.reached, filters)
        return on_page(answer, page, detail, service.short_ids, short_papers=service.short_papers)

    @tool("Paper")
    def get_paper(
        paper: Annotated[Id, Field(description=PAPER)],
        include_code: Annotated[bool, Field(description="also include every technique's code (long)")] = False,
        cursor: Cursor = None,
        detail: Detail = "concise",
    ) -> PaperAnswer:
        """Returns a paper: abstract, techniques with levels (a tree, as a preorder list with depth), repositories,
        findings and resources. Pass technique ids to get_technique and get_code. Full answers add references, a code
        overview and descriptions."""
        answer = service.paper(paper, include_code=include_code, full=detail == "full")
        page = Page(cursor, "get_paper", answer.id)
        keys = [technique.id for technique in answer.techniques]
        rest = _from_technique(answer, page.start(keys))
        shown = concise(rest, service.short_ids) if detail == "concise" else rest
        return fitted(shown, detail, more=page.more(keys), whole=uri("paper", answer.id))

    @tool("Plan a paper")
    def plan_context(
        paper: Annotated[Id, Field(description=PAPER)],
        budget_tokens: Annotated[
            int, Field(ge=200, le=8000, description="maximum tokens of the plan (four characters each)")
        ] = 2000,
    ) -> ContextAnswer:
        """Returns a paper for planning its replication or ablation, as Markdown within a budget: a tree of components
        with definitions and the length and level of their code, a build order with dependencies, packages, repositories
        with relevant lines, findings, related papers. The last line lists omissions. Pass ids to get_technique and
        get_code."""
        return service.context(paper, budget_tokens, "planning")

    @tool("Technique")
    def get_technique(
        id: Annotated[
            Id,
            Field(description="a technique's id from search_techniques or get_paper, or a unique name"),
        ],
        detail: Detail = "concise",
    ) -> TechniqueAnswer:
        """Returns a technique: definition, place in the hierarchy, ordered components, code id and level. Full answers
        add aliases, excerpts (character offsets in the paper, file and line) and component definitions."""
        answer = service.technique(id, full=detail == "full")
        shown = concise(answer, service.short_ids) if detail == "concise" else answer
        return fitted(shown, detail, whole=uri("technique", answer.id))

    @tool("Code")
    def get_code(
        id: Annotated[Id, Field(description="id of the code or its technique, or a name as in get_technique")],
        detail: Detail = "concise",
    ) -> CodeAnswer:
        """Returns a technique's code: implementation, packages, documentation and proof. If the implementation exceeds
        8,000 tokens, read the resource at `uri` for all of it. Full answers add the test, all evidence and unchecked
        imported claims."""
        answer = service.code(id, full=detail == "full")
        most = min(TOKENS["full"], TOKENS[detail] + tokens(json.dumps(answer.implementation)))
        return fitted(answer, detail, whole=uri("code", answer.id), most=most)

    @tool("Graph schema")
    def graph_schema(detail: Detail = "concise") -> SchemaAnswer:
        """Returns the graph's tables and edges as Cypher patterns (columns without a type are strings), the number of
        papers, the named queries for cypher with parameters, and an example. Full answers add the statements that
        created the tables and each named query's purpose. Read one before you write your own statement."""
        return service.schema(full=detail == "full")

    @tool("Cypher")
    def cypher(
        query: Annotated[
            str, filled(20_000, "name of a query listed by graph_schema, or one read-only openCypher statement")
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


def _from_technique(answer: PaperAnswer, start: int) -> PaperAnswer:
    """Returns the answer with the techniques from position `start` onwards. Pages after the first omit the other
    fields."""
    if start == 0:
        return answer
    techniques = answer.techniques[start:]
    visible = {technique.id for technique in techniques}
    of_first = ("authors", "incomplete", "hidden", "repositories", "findings", "resources", "code_files", "nothing_in")
    return answer.model_copy(
        update={
            **dict.fromkeys(of_first, ()),
            "abstract": "",
            "references": None,
            "code_overview": "",
            "techniques": techniques,
            "implementations": tuple(code for code in answer.implementations if code.technique in visible),
            "cut": f"fields of the previous page; {answer.cut}".removesuffix("; "),
        }
    )
