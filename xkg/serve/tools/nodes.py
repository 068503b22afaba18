"""Tools that return a paper, a technique or code, and the list of papers."""

import json
from dataclasses import astuple
from typing import Annotated

from mcp.server import MCPServer
from pydantic import Field

from xkg.llm.prices import tokens
from xkg.model import Level
from xkg.serve.answers.budget import TOKENS, fitted
from xkg.serve.answers.concise import concise
from xkg.serve.answers.paging import Page, on_page
from xkg.serve.answers.paper_list import PaperFilters, State
from xkg.serve.answers.types import CodeAnswer, PaperAnswer, PapersAnswer, TechniqueAnswer, uri
from xkg.serve.context.context import ContextAnswer
from xkg.serve.service import Service
from xkg.serve.tools.tool_decorator import PAPER, Cursor, Detail, Id, registering


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
        findings and resources. Pass technique ids to get_technique and get_code. Full adds references, an overview of
        the code, and descriptions."""
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
        """Returns a technique: definition, place in the paper's hierarchy, ordered components, code id and level. Full
        adds aliases, excerpts (character offsets in the paper, file and line) and component definitions."""
        answer = service.technique(id, full=detail == "full")
        shown = concise(answer, service.short_ids) if detail == "concise" else answer
        return fitted(shown, detail, whole=uri("technique", answer.id))

    @tool("Code")
    def get_code(
        id: Annotated[Id, Field(description="id of the code or its technique, or a name as in get_technique")],
        detail: Detail = "concise",
    ) -> CodeAnswer:
        """Returns a technique's code: implementation, packages, documentation and proof. If the implementation exceeds
        8,000 tokens, read the resource at `uri` for all of it. Full adds the test, all evidence, and an imported file's
        unchecked claims."""
        answer = service.code(id, full=detail == "full")
        most = min(TOKENS["full"], TOKENS[detail] + tokens(json.dumps(answer.implementation)))
        return fitted(answer, detail, whole=uri("code", answer.id), most=most)


def _from_technique(answer: PaperAnswer, start: int) -> PaperAnswer:
    """Returns the answer with the techniques from `start`. Pages after the first omit the other fields."""
    if start == 0:
        return answer
    techniques = answer.techniques[start:]
    visible = {technique.id for technique in techniques}
    return PaperAnswer(
        id=answer.id,
        title=answer.title,
        authors=(),
        year=answer.year,
        origin=answer.origin,
        state=answer.state,
        abstract="",
        techniques=techniques,
        repositories=(),
        findings=(),
        resources=(),
        implementations=tuple(code for code in answer.implementations if code.technique in visible),
        cut=f"fields of the previous page; {answer.cut}".removesuffix("; "),
    )
