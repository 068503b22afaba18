"""What an MCP server serves, over stdio or HTTP."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xkg.serve.graphs import graphs_of
from xkg.serve.jobs.authority import OPERATOR, Asked, Caller, caller_of
from xkg.serve.jobs.table import Kind
from xkg.serve.service import Service

if TYPE_CHECKING:
    from xkg.serve.jobs.jobs import Jobs
    from xkg.serve.running.callers_runs import CallersRuns

PlanAblations = Callable[[str, Path | None], str]
"""Returns the plan of a paper's ablations as Markdown, given its id and the folder of a repository. Raises `InputError`
for a folder that may not or cannot be read."""


@dataclass(frozen=True)
class Served:
    """The graph of a server, and what callers may request. Paths that they name must lie under `roots`. None for `jobs`
    omits the build tools, None for `runs` the tool that runs scripts, None for `planner` the plan of the ablation
    prompt. `by_token`: callers are identified by their token; else the caller is the user who started the server."""

    service: Service
    roots: Sequence[Path] = ()
    jobs: "Jobs | None" = None
    planner: "PlanAblations | None" = None
    runs: "CallersRuns | None" = None
    by_token: bool = False

    @property
    def graphs(self) -> tuple[str, ...]:
        return tuple(graphs_of(self.service))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of jobs that callers may request."""
        return self.jobs.kinds if self.jobs is not None else ()

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The requests that callers may make."""
        return (*self.kinds, "run") if self.runs is not None else self.kinds

    def caller(self) -> Caller:
        """The caller of the current MCP request."""
        from mcp.server.auth.middleware.auth_context import get_access_token

        return caller_of(get_access_token()) if self.by_token else OPERATOR
