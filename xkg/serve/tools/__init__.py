"""What the server offers: tools and resources over one graph."""

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from xkg.serve.resources import add_resources
from xkg.serve.service import Service
from xkg.serve.tools import exploring, locating, nodes, searching


def add_all(server: MCPServer, service: Service, roots: Sequence[Path] = ()) -> None:
    """Registers every tool and resource. Working copies that a caller names must lie under `roots`."""
    searching.add(server, service)
    nodes.add(server, service)
    locating.add(server, service, roots)
    exploring.add(server, service)
    add_resources(server, service)
