"""The tools that build papers: registered only where the operator allows it, and over HTTP only for tokens with the
scope `build`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp_types import ToolAnnotations
from pydantic import Field

from xkg.errors import InputError
from xkg.serve.jobs.answers import JobAnswer, JobsAnswer, job_answer, jobs_answer
from xkg.serve.jobs.jobs import Jobs
from xkg.serve.jobs.sources import paper_named, repository_named
from xkg.serve.tools.tool_decorator import registering

LISTED = 5
SCOPE = "build"

_BUILDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True)
"""A paper's earlier build is replaced; asking twice for what is under way gives the same job."""
_ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
_LOOKS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


@dataclass(frozen=True)
class Building:
    """The jobs, and whether callers are remote and must show a token with the scope (`by_token`); else the caller is
    the user who started the server."""

    jobs: Jobs
    by_token: bool

    def caller(self) -> str:
        """The name of the caller. Raises `InputError` for one without the scope."""
        if not self.by_token:
            return "local"
        token = get_access_token()
        if token is None or SCOPE not in token.scopes:
            raise InputError(
                "this needs a token with the scope build: ask whoever runs the server for one "
                "(`xkg token create NAME --scope read --scope build`)"
            )
        return token.client_id


def add(server: MCPServer, building: Building, roots: Sequence[Path]) -> None:
    tool = registering(server)
    jobs = building.jobs

    @tool("Build a paper", annotations=_BUILDS)
    def build(
        paper: Annotated[
            str,
            Field(
                min_length=1,
                max_length=1000,
                description="arXiv id or address, such as arxiv:1608.04471 or 1608.04471v2; or a file or folder under "
                "the server's roots",
            ),
        ],
        repository: Annotated[
            str | None,
            Field(
                min_length=1,
                max_length=1000,
                description="https address of the paper's repository, perhaps with @commit, on a host that the server "
                "takes; or a folder under its roots; none gives techniques without code",
            ),
        ] = None,
    ) -> JobAnswer:
        """Has a paper and its repository built into the graph. Answers at once with a job; builds run one after the
        other and take minutes to hours, so ask job_status now and then, not in a loop. When it is done, result.paper
        is the id for the other tools.

        Asking again for what is under way gives the same job; asking again for one that ended goes on from the stages
        that are finished. An earlier build of the same paper is replaced when the new one is complete. What the
        language model may cost is bounded by the operator."""
        caller = building.caller()
        named = paper_named(paper, roots)
        source = None if repository is None else repository_named(repository, roots, jobs.hosts)
        row, new = jobs.ask(named, source, caller)
        note = "" if new else "This was asked for already: it is the same job."
        return job_answer(jobs, row, note)

    @tool("Job status", annotations=_LOOKS)
    def job_status(
        job: Annotated[int | None, Field(ge=1, description="number of the job; none lists the newest")] = None,
    ) -> JobsAnswer:
        """How a build is doing: state (queued, running, done, partial, failed, cancelled), the stages that ended and
        how far the one under way is, what it spent, and in the end result (result.paper is the id for other tools) or
        error, which says what to do. Without job, the newest jobs of all callers in short."""
        building.caller()
        return jobs_answer(jobs, LISTED) if job is None else JobsAnswer(jobs=(job_answer(jobs, jobs.get(job)),), cut="")

    @tool("Cancel a build", annotations=_ENDS)
    def cancel_job(job: Annotated[int, Field(ge=1, description="number of the job, as build answers it")]) -> JobAnswer:
        """Ends a build that waits or runs; what it has finished is kept, and asking for it again goes on from there.
        One that has ended stays as it is."""
        building.caller()
        row = jobs.cancel(job)
        note = "It is being ended: job_status shows when it has." if row.state == "running" else ""
        return job_answer(jobs, row, note)
