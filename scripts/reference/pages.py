"""Lists all generated pages."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from scripts.reference.commands import commands
from scripts.reference.cypher import queries, schema
from scripts.reference.json_fields import json_fields
from scripts.reference.mcp_tools import mcp
from scripts.reference.python_api import python
from scripts.reference.settings import settings

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


def pages() -> Mapping[str, str]:
    """Returns the text of each page, keyed by file name."""
    return {
        "commands.md": commands(),
        "settings.md": settings(),
        "json.md": json_fields(),
        "mcp.md": asyncio.run(mcp()),
        "schema.md": schema(),
        "queries.md": queries(),
        "python.md": python(),
    }
