"""Tools that find techniques, papers and lines in repositories."""

from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from pydantic import Field

from xkg.llm.prices import tokens
from xkg.model import Level
from xkg.serve.allowed_folders import under_roots
from xkg.serve.answers import budget
from xkg.serve.answers.budget import TOKENS, ShortIds, concise, fitted
from xkg.serve.answers.paging import Page, on_page
from xkg.serve.answers.types import MORE_ROWS, ImplementationsAnswer, LocateAnswer, SearchAnswer
from xkg.serve.search.filters import Filters
from xkg.serve.search.related import RelatedAnswer
from xkg.serve.service import Service
from xkg.serve.tools.tool_decorator import PAPER, Cursor, Detail, Id, Strings, filled, registering

Papers = Annotated[Strings, Field(max_length=50, description="only these papers, by id or title (empty: all)")]
WithCode = Annotated[bool, Field(description="only techniques with code")]
Exclude = Annotated[Strings, Field(max_length=500, description="ids of papers, techniques or code to skip")]

ROW_TOKENS = 170
"""Minimum budget for a row with a short definition and long ids, so that all requested rows fit."""

PART_TOKENS = 100
"""Minimum budget for a part of a task, excluding its rows."""


def add(server: MCPServer, service: Service, roots: Sequence[Path]) -> None:
    tool = registering(server, service)

    @tool("Search techniques", waits=True)
    def search_techniques(
        query: Annotated[str, filled(4000, "a name, a need in your own words, or code")],
        k: Annotated[int, Field(ge=1, le=50, description="maximum rows")] = 5,
        papers: Papers = [],  # noqa: B006
        with_code: WithCode = False,
        first_year: Annotated[int | None, Field(description="only papers since this year")] = None,
        last_year: Annotated[int | None, Field(description="only papers up to this year")] = None,
        level: Annotated[Level | None, Field(description="only code at or above this level")] = None,
        packages: Annotated[Strings, Field(max_length=20, description="only code that requires all of these")] = [],  # noqa: B006
        language: Annotated[str | None, Field(max_length=100, description="only code in this language")] = None,
        attested_by: Annotated[str | None, Field(max_length=200, description="only code attested by this key")] = None,
        exclude: Exclude = [],  # noqa: B006
        verify: Annotated[
            bool, Field(description="let a model drop rows that do not fit, and explain the others")
        ] = False,
        cursor: Cursor = None,
        detail: Detail = "concise",
    ) -> SearchAnswer:
        """Finds techniques from papers, with their code, for one implementation step.

        Rows are best first; pass a row's id to get_code. All tools accept short ids and unique names. `score` is
        roughly the probability that the row fits. `level` is the code's proven level, `no_code` says why there is none,
        and `measured` is the largest effect in an ablation. `relatives` are matching ancestors or descendants. If there
        are no rows, nothing fits, and `nearest` is probably not what you want.

        If `verify` is set, a model reads each candidate's code. `rows` lists those that fit, with `reason` and
        `guidance`; `dropped` lists the rest. `verified` names the model, or says why there is none. In that case,
        answer `question` to judge the rows."""
        filters = Filters.of(
            papers=tuple(papers),
            years=(first_year, last_year),
            level=level,
            packages=packages,
            language=language,
            exclude=exclude,
            with_code=with_code,
            attested_by=attested_by,
        )
        page = Page(cursor, "search_techniques", query, (*astuple(filters), verify))
        answer = service.search(query, k + page.seen, filters=filters, verify=verify)
        return _on_page(answer, k, page, detail, service.short_ids)

    @tool("Find implementations", waits=True)
    def find_implementations(
        task: Annotated[str, filled(20_000, "what to implement, in your own words")],
        k: Annotated[int, Field(ge=1, le=5, description="maximum rows per part")] = 1,
        papers: Papers = [],  # noqa: B006
        with_code: WithCode = False,
        exclude: Exclude = [],  # noqa: B006
        detail: Detail = "concise",
    ) -> ImplementationsAnswer:
        """Splits a task into steps, and searches for each step like search_techniques with verify. Takes up to
        40 seconds.

        Each part has a step and rows, best first, with guidance on using them; `again` lists earlier rows that also
        fit. If `note` says nothing fits, write the part yourself. Full answers add reasons and code. For `verified`,
        see search_techniques. If nothing is verified, the last part groups results for the whole task by paper."""
        filters = Filters(papers=tuple(papers), exclude=exclude, with_code=with_code)
        answer = service.find_implementations(task, k, filters=filters, full=detail == "full")
        shown = concise(answer, service.short_ids) if detail == "concise" else answer
        rows = sum(len(part.rows) for part in answer.parts)
        most = max(TOKENS[detail], ROW_TOKENS * rows + PART_TOKENS * len(answer.parts))
        return fitted(shown, detail, most=most + tokens(answer.question + answer.candidates))

    @tool("Related papers")
    def related_papers(
        paper: Annotated[Id, Field(description=PAPER)],
        k: Annotated[int, Field(ge=1, le=50, description="maximum rows")] = 10,
        exclude: Annotated[Strings, Field(max_length=500, description="ids of papers to exclude")] = [],  # noqa: B006
        cursor: Cursor = None,
        detail: Detail = "concise",
    ) -> RelatedAnswer:
        """Finds papers related to a paper, best first, with reasons: `cites` (the paper cites the row), `cited` (the
        row cites the paper), `shared` (techniques that are the same concept), `alike` (0 to 1) and `nearest` (similar
        techniques). `score` (0 to 1) combines these."""
        page = Page(cursor, "related_papers", paper, exclude)
        answer = service.related(paper, k + page.reached, exclude)
        return on_page(answer, page, detail, service.short_ids)

    @tool("Locate")
    def locate(
        technique: Annotated[
            str, filled(4000, "a technique's id (short or full) or name, or what the code should do, in words")
        ],
        repository: Annotated[
            str | None, filled(4000, "folder with a working copy, under your or the server's roots; default: the graph")
        ] = None,
        k: Annotated[int, Field(ge=1, le=50, description="maximum places")] = 10,
        cursor: Cursor = None,
        detail: Detail = "concise",
    ) -> LocateAnswer:
        """Finds the lines to edit or ablate for a technique (all places, best first): repository, commit, path,
        start_line and end_line (1-based, inclusive), symbol, score, technique, source.

        If `repository` is a folder, the answer reflects its current state, even if uncommitted, and `commit` is null.
        `source` is `stored` (the graph's lines), `moved` (the same code on different lines) or `retrieved` (found by
        searching the folder). If `repository` is omitted, lines belong to the answer's commit. Six in seven
        certain, half of the doubtful and a third of the weak places are right. A name plus a sentence finds more than a
        name alone."""
        page = Page(cursor, "locate", technique, repository)
        folder = None if repository is None else under_roots(repository, roots)
        answer = service.locate(technique, folder, k + page.reached, roots=roots)
        return on_page(answer, page, detail, service.short_ids)


def _on_page(answer: SearchAnswer, k: int, page: Page, detail: budget.Detail, short_ids: ShortIds) -> SearchAnswer:
    """Returns up to `k` rows that are not recorded in the cursor, as many as fit."""
    rows = [answer.rows[place] for place in page.unseen([row.id for row in answer.rows])][:k]
    shown = answer.model_copy(update={"rows": tuple(rows)})

    def more(n: int) -> str | None:
        left = n < len(rows) or (rows and MORE_ROWS in answer.cut)
        return page.beyond([row.id for row in rows[:n]]) if left else None

    most = max(TOKENS[detail], ROW_TOKENS * len(rows)) + tokens(answer.question + answer.candidates)
    return fitted(concise(shown, short_ids) if detail == "concise" else shown, detail, more=more, most=most)
