"""The tool that locates a technique in a repository."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from pydantic import Field

from xkg.serve.allowed_folders import under_roots
from xkg.serve.answers.paging import Page, on_page
from xkg.serve.answers.types import LocateAnswer
from xkg.serve.service import Service
from xkg.serve.tools.tool_decorator import Cursor, Detail, registering


def add(server: MCPServer, service: Service, roots: Sequence[Path]) -> None:
    tool = registering(server, service)

    @tool("Locate")
    def locate(
        technique: Annotated[
            str,
            Field(
                min_length=1,
                max_length=4000,
                description="a technique's id (short or full) or name, or what the code should do, in words",
            ),
        ],
        repository: Annotated[
            str | None,
            Field(
                min_length=1,
                max_length=4000,
                description="folder with a working copy, under your or the server's roots; default: the graph",
            ),
        ] = None,
        k: Annotated[int, Field(ge=1, le=50, description="maximum places")] = 10,
        cursor: Cursor = None,
        detail: Detail = "concise",
    ) -> LocateAnswer:
        """Finds the lines to edit or ablate for a technique (all places, best first): repository, commit, path,
        start_line and end_line (1-based, inclusive), symbol, score, technique, source.

        If `repository` is a folder, the answer reflects its current state, even if uncommitted, and `commit` is null.
        `source` is `stored` (the graph's lines), `moved` (the same code on different lines) or `retrieved` (found by
        searching the folder). If `repository` is omitted, lines belong to the answer's commit. Six in seven certain
        places are right, half of the doubtful ones, and a third of the weak ones. A name with a sentence finds more
        than a name alone."""
        page = Page(cursor, "locate", technique, repository)
        folder = None if repository is None else under_roots(repository, roots)
        answer = service.locate(technique, folder, k + page.reached, roots=roots)
        return on_page(answer, page, detail, service.short_ids)
