"""Tools that read one node: a paper, a technique, code."""

from typing import Annotated

from mcp.server import MCPServer
from pydantic import Field

from xkg.serve.answers import CodeAnswer, PaperAnswer, TechniqueAnswer
from xkg.serve.service import Service
from xkg.serve.tools.registering import Detail, Id, registering


def add(server: MCPServer, service: Service) -> None:
    tool = registering(server)

    @tool("Paper")
    def get_paper(
        paper: Annotated[Id, Field(description="id such as arxiv:2006.10726, or the title")],
        include_code: Annotated[bool, Field(description="also the code of every technique; long")] = False,
        detail: Detail = "concise",
    ) -> PaperAnswer:
        """A paper for planning: abstract, its techniques as a tree (a preorder list with depth) with levels and code
        ids, repositories, findings and resources. Full adds references, an overview of its code, and descriptions."""
        return service.paper(paper, include_code=include_code, full=detail == "full")

    @tool("Technique")
    def get_technique(
        id: Annotated[Id, Field(description="technique id, as search_techniques and get_paper give it")],
        detail: Detail = "concise",
    ) -> TechniqueAnswer:
        """A technique: definition, its place in the paper's hierarchy, components in order, code id and level. Full
        adds aliases, excerpts (character offsets in the paper, file and line) and the components' definitions."""
        return service.technique(id, full=detail == "full")

    @tool("Code")
    def get_code(
        id: Annotated[Id, Field(description="code id, or the id of its technique")],
        detail: Detail = "concise",
    ) -> CodeAnswer:
        """Code for a technique: implementation, packages, documentation, and what was proven of it. Full adds its test,
        all evidence, and what an imported file claimed of itself (not checked)."""
        return service.code(id, full=detail == "full")
