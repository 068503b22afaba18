"""What the server offers: tools and resources over one graph, each read-only."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from xkg.errors import XkgError
from xkg.model import Level
from xkg.serve import answers
from xkg.serve.answer_text import text
from xkg.serve.filters import Filters
from xkg.serve.related import RelatedAnswer
from xkg.serve.roots import under_roots
from xkg.serve.service import Service

P = ParamSpec("P")
Answer = TypeVar("Answer", bound=answers._Value)

Detail = Annotated[
    Literal["short", "full"], Field(description="short leaves out what the answer names; full gives all")
]
Id = Annotated[str, Field(min_length=1, max_length=1000)]

_SAFE = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


def add_all(server: MCPServer, service: Service, roots: Sequence[Path] = ()) -> None:
    """Registers every tool and resource. Working copies that a caller names must lie under `roots`."""
    _add_tools(server, service, roots)
    _add_resources(server, service)


def _told(ask: Callable[P, Answer]) -> Callable[P, CallToolResult]:
    """The answer as text and as structured content, and our errors in their own words."""

    @functools.wraps(ask)
    def told(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        try:
            answer = ask(*args, **kwargs)
        except XkgError as error:
            raise ToolError(str(error)) from error
        return CallToolResult(
            content=[TextContent(type="text", text=text(answer))],  # type: ignore[arg-type]
            structured_content=answer.model_dump(mode="json"),
        )

    told.__annotations__ = {**ask.__annotations__, "return": Annotated[CallToolResult, ask.__annotations__["return"]]}
    return told


def _add_tools(server: MCPServer, service: Service, roots: Sequence[Path]) -> None:
    def tool(title: str) -> Callable[[Callable[P, Answer]], Callable[P, Answer]]:
        annotations = _SAFE.model_copy(update={"title": title})

        def add(ask: Callable[P, Answer]) -> Callable[P, Answer]:
            server.add_tool(_told(ask), title=title, annotations=annotations, structured_output=True)
            return ask

        return add

    @tool("Search techniques")
    def search_techniques(
        query: Annotated[
            str,
            Field(
                min_length=1, max_length=4000, description="a technique's name, or what it should do in your own words"
            ),
        ],
        k: Annotated[int, Field(ge=1, le=50, description="most rows to answer")] = 5,
        papers: Annotated[
            list[str], Field(max_length=50, description="only these papers, by id or title; empty searches all")
        ] = [],  # noqa: B006
        with_code: Annotated[bool, Field(description="only techniques that have code")] = False,
        first_year: Annotated[int | None, Field(description="only papers of this year or later")] = None,
        last_year: Annotated[int | None, Field(description="only papers of this year or earlier")] = None,
        level: Annotated[Level | None, Field(description="only code of this level or a higher one")] = None,
        packages: Annotated[
            list[str], Field(max_length=20, description="only code that needs all of these packages")
        ] = [],  # noqa: B006
        language: Annotated[str | None, Field(max_length=100, description="only code in this language")] = None,
        exclude: Annotated[
            list[str],
            Field(max_length=500, description="ids of papers, techniques or code to leave out, such as those seen"),
        ] = [],  # noqa: B006
    ) -> answers.SearchAnswer:
        """Finds techniques of papers, with their code, for one step of an implementation.

        Rows are best first: id, name, paper_title, score, level, code (the id for get_code), definition. score is in
        0..1 and comparable between queries: 1 is the technique's very name, below 0.5 is weak. level is what was proven
        of the code. relatives are techniques above or below the row that the query matched too. No rows means that
        nothing in the graph fits: do not force a match. searched says what the filters left."""
        years = (first_year, last_year)
        return service.search(
            query, k, filters=Filters(tuple(papers), years, level, packages, language, exclude, with_code)
        )

    @tool("Related papers")
    def related_papers(
        paper: Annotated[Id, Field(description="id such as arxiv:2006.10726, or the title")],
        k: Annotated[int, Field(ge=1, le=50, description="most rows to answer")] = 10,
        exclude: Annotated[list[str], Field(max_length=500, description="ids of papers to leave out")] = [],  # noqa: B006
    ) -> RelatedAnswer:
        """Papers of the graph related to one, best first, with why: cites (the paper cites it) and cited (it cites the
        paper), shared (pairs of techniques that are one concept), alike in 0..1 with nearest (pairs of techniques that
        are alike). score in 0..1 takes all of this together."""
        return service.related(paper, k, exclude)

    @tool("Paper")
    def get_paper(
        paper: Annotated[Id, Field(description="id such as arxiv:2006.10726, or the title")],
        include_code: Annotated[bool, Field(description="also the code of every technique; long")] = False,
        detail: Detail = "short",
    ) -> answers.PaperAnswer:
        """A paper for planning: abstract, its techniques as a tree (a preorder list with depth) with levels and code
        ids, repositories, findings and resources. Full adds references, an overview of its code, and descriptions."""
        return service.paper(paper, include_code=include_code, full=detail == "full")

    @tool("Technique")
    def get_technique(
        id: Annotated[Id, Field(description="technique id, as search_techniques and get_paper give it")],
        detail: Detail = "short",
    ) -> answers.TechniqueAnswer:
        """A technique: definition, its place in the paper's hierarchy, components in order, code id and level. Full
        adds aliases, excerpts (character offsets in the paper, file and line) and the components' definitions."""
        return service.technique(id, full=detail == "full")

    @tool("Code")
    def get_code(
        id: Annotated[Id, Field(description="code id, or the id of its technique")],
        detail: Detail = "short",
    ) -> answers.CodeAnswer:
        """Code for a technique: implementation, packages, documentation, and what was proven of it. Full adds its test,
        all evidence, and what an imported file claimed of itself (not checked)."""
        return service.code(id, full=detail == "full")

    @tool("Locate")
    def locate(
        technique: Annotated[
            str,
            Field(
                min_length=1,
                max_length=4000,
                description="technique id, its exact name, or what the code should do in your own words",
            ),
        ],
        repository: Annotated[
            str | None,
            Field(
                min_length=1,
                max_length=4000,
                description="folder of a working copy under the server's roots; none answers from the graph",
            ),
        ] = None,
        k: Annotated[int, Field(ge=1, le=50, description="most places to answer")] = 10,
    ) -> answers.LocateAnswer:
        """The lines to edit or ablate for a technique: repository, commit, path, start_line and end_line (1-based,
        inclusive), symbol, score, source. Best first; a technique that is spread over several places has them all.

        With repository, a folder of this machine, the answer holds for the files as they lie there now, changes that
        are not committed too: repository is that folder and commit is null. source is stored (lines as the graph has
        them), moved (the same code, found again on other lines or in another file) or retrieved (found by searching the
        folder: read it before you edit; note says where that is doubtful). Without repository, lines belong to the
        commit that is named. No locations means that nothing is well founded: do not guess a place."""
        return service.locate(technique, None if repository is None else under_roots(repository, roots), k)

    @tool("Graph schema")
    def graph_schema() -> answers.SchemaAnswer:
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
    ) -> answers.CypherAnswer:
        """Asks the graph a named query, such as component-tree with {"paper": "arxiv:1608.04471"}, or runs one reading
        Cypher statement: MATCH, OPTIONAL MATCH, WHERE, WITH, UNWIND, RETURN, ORDER BY, SKIP, LIMIT, UNION, and CALL of
        show_tables, table_info and the like. Names that are keywords stand in backticks, as in r.`order`. It ends after
        10 seconds. graph_schema tells the named queries and the tables."""
        return service.cypher(query, parameters, limit)


def _add_resources(server: MCPServer, service: Service) -> None:
    unchecked = ResourceSecurity(exempt_params=frozenset(["id"]))  # ids are looked up, never used as paths

    def read(ask: Callable[[], answers._Value]) -> str:
        try:
            return ask().model_dump_json(indent=1)
        except XkgError as error:
            raise ResourceNotFoundError(str(error)) from error

    @server.resource("xkg://paper/{id}", title="Paper", mime_type="application/json", security=unchecked)
    def paper(id: str) -> str:
        """A paper with all its facts; the id percent-encoded."""
        return read(lambda: service.paper(id, full=True))

    @server.resource("xkg://technique/{id}", title="Technique", mime_type="application/json", security=unchecked)
    def technique(id: str) -> str:
        """A technique with all its facts; the id percent-encoded."""
        return read(lambda: service.technique(id, full=True))

    @server.resource("xkg://code/{id}", title="Code", mime_type="application/json", security=unchecked)
    def code(id: str) -> str:
        """Code with its test and evidence; the id percent-encoded."""
        return read(lambda: service.code(id, full=True))

    @server.resource("xkg://schema", title="Graph schema", mime_type="application/json")
    def schema() -> str:
        """The graph's tables and example queries."""
        return read(service.schema)
