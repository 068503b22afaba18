"""Registers the MCP server's tools, resources and prompts."""

from mcp.server import MCPServer

from xkg.serve.protocol.prompts import add_prompts
from xkg.serve.protocol.resources import add_resources
from xkg.serve.served import Served
from xkg.serve.tools import nodes, search


def add_all(server: MCPServer, served: Served) -> None:
    """Registers the tools, resources and prompts. `locate` reads the list of roots on each call."""
    search.add(server, served.service, served.roots)
    nodes.add(server, served.service)
    if served.jobs is not None:
        from xkg.serve.tools import build

        build.add(server, served, served.jobs)
    if served.runs is not None:
        from xkg.serve.tools import run

        run.add(server, served, served.runs)
    add_resources(server, served.service)
    add_prompts(server, served.service, served.planner, builds="build" in served.kinds)
