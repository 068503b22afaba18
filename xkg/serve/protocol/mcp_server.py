"""Registers the tools, resources and prompts of the MCP server."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcp.server import MCPServer

from xkg.serve.protocol.prompts import PlanAblations, add_prompts
from xkg.serve.protocol.resources import add_resources
from xkg.serve.service import Service
from xkg.serve.tools import cypher, locate, nodes, search

if TYPE_CHECKING:
    from xkg.serve.running.callers_runs import CallersRuns
    from xkg.serve.tools.build import Building


def add_all(
    server: MCPServer,
    service: Service,
    roots: Sequence[Path] = (),
    building: "Building | None" = None,
    planner: PlanAblations | None = None,
    runs: "CallersRuns | None" = None,
    *,
    by_token: bool = False,
) -> None:
    """Registers everything. Paths that a caller names must lie under `roots`; `locate` reads that list at each call.
    None for `building` omits the build tools, None for `runs` the tool that runs scripts, None for `planner` the plan
    of the ablation prompt. `by_token`: callers are identified by their token."""
    search.add(server, service)
    nodes.add(server, service)
    locate.add(server, service, roots)
    cypher.add(server, service)
    if building is not None:
        from xkg.serve.tools import build as builds

        builds.add(server, service, building, tuple(roots))
    if runs is not None:
        from xkg.serve.tools import run

        run.add(server, service, runs, by_token=by_token)
    add_resources(server, service)
    add_prompts(server, service, planner, builds=building is not None and "build" in building.kinds)
