"""Defines the graph and the options of an MCP server, for stdio and HTTP."""

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
"""Plans ablations for a paper id and an optional repository folder, and returns Markdown. Raises `InputError` if the
folder cannot be read or access is not allowed."""


@dataclass(frozen=True)
class Served:
    """A server's graph, and the requests that callers may make. Paths from callers must be under `roots`. There are no
    build tools if `jobs` is None, and no tool that runs scripts if `runs` is None. If `planner` is None, the ablation
    prompt contains no plan. Callers are identified by their token if `by_token` is set. If `by_token` is not set, the
    caller is the user who started the server."""

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
        """The kinds of requests that callers may make, including script runs."""
        return (*self.kinds, "run") if self.runs is not None else self.kinds

    def caller(self) -> Caller:
        """Returns the current MCP request's caller."""
        from mcp.server.auth.middleware.auth_context import get_access_token

        return caller_of(get_access_token()) if self.by_token else OPERATOR
