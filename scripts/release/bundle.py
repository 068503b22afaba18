"""Creates the MCP bundle and the registry's file for the wheel in dist: `python -m scripts.release.bundle` (`make
bundle`).

The bundle is packed from the folder dist/bundle and contains the wheel. At the first start, the client's uv installs
the wheel with its dependencies (github.com/modelcontextprotocol/mcpb, MANIFEST.md, server type `uv`). The file
dist/server.json is for github.com/modelcontextprotocol/registry (schema of 2025-12-11), and requires `XKG_REPOSITORY`.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hatch_build import registry_name
from xkg.config import Settings
from xkg.files import sha256_of
from xkg.serve.protocol.mcp_server import add_all
from xkg.serve.protocol.tool_errors import PlainErrors
from xkg.serve.served import Served
from xkg.serve.service import Service

DESCRIPTION = "Machine-learning papers as graphs: techniques, where a paper defines them, code that ran"
"""The registry allows at most 100 characters."""
_MCPB = Path(".agents/mcpb")
_PYPROJECT = """\
[project]
name = "xkg-bundle"
version = "{version}"
requires-python = ">=3.11"
dependencies = ["xkg"]

[tool.uv.sources]
xkg = {{ path = "{wheel}" }}
"""


def semantic(version: str) -> str:
    """Converts a Python version to a semantic version: 0.2.0.dev3+g1 becomes 0.2.0-dev.3."""
    found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)(?:\.?(dev|a|b|rc)(\d+))?(?:\+.*)?", version)
    if found is None:
        raise SystemExit(f"{version} is no version of three numbers")
    before = f"-{found[4]}.{found[5]}" if found[4] else ""
    return f"{found[1]}.{found[2]}.{found[3]}{before}"


def manifest(version: str, tools: Sequence[Mapping[str, str]], repository: str) -> dict[str, Any]:
    """Returns the bundle's manifest. Clients ask for the graph's folder when they install the bundle."""
    told = {"homepage": repository, "repository": {"type": "git", "url": f"{repository}.git"}} if repository else {}
    command = ["run", "--directory", "${__dirname}", "xkg", "--kg", "${user_config.graph}", "serve"]
    return {
        "manifest_version": "0.4",
        "name": "xkg",
        "display_name": "xkg",
        "version": semantic(version),
        "description": DESCRIPTION,
        "author": {"name": "The xkg authors"},
        "license": "MIT",
        "icon": "icon.png",
        "keywords": ["papers", "research code", "knowledge graph", "ablation"],
        "server": {
            "type": "uv",
            "entry_point": "pyproject.toml",
            "mcp_config": {"command": "uv", "args": command, "env": {}},
        },
        "user_config": {
            "graph": {
                "type": "directory",
                "title": "Folder of the graph",
                "description": "A folder that `xkg build` or `xkg import` made",
                "required": True,
            }
        },
        "tools": list(tools),
        "tools_generated": True,
        "compatibility": {"platforms": ["darwin", "linux", "win32"], "runtimes": {"python": ">=3.11"}},
        **told,
    }


def server_json(version: str, repository: str, bundle_sha256: str) -> dict[str, Any]:
    """Returns the MCP registry entry, which lists the package on PyPI and the release's bundle."""
    graph = {
        "type": "named",
        "name": "--kg",
        "description": "Folder of the graph",
        "format": "filepath",
        "isRequired": True,
    }
    stdio = {"type": "stdio"}
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": registry_name(repository),
        "title": "xkg",
        "description": DESCRIPTION,
        "version": semantic(version),
        "websiteUrl": repository,
        "repository": {"url": repository, "source": "github"},
        "icons": [{"src": f"{repository}/raw/v{version}/xkg/web/static/icon.svg", "mimeType": "image/svg+xml"}],
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "xkg",
                "version": version,
                "runtimeHint": "uvx",
                "transport": stdio,
                "packageArguments": [{"type": "positional", "value": "serve"}, graph],
            },
            {
                "registryType": "mcpb",
                "identifier": f"{repository}/releases/download/v{version}/xkg-{version}.mcpb",
                "version": semantic(version),
                "fileSha256": bundle_sha256,
                "transport": stdio,
            },
        ],
    }


def tools_of_the_server() -> list[dict[str, str]]:
    """Returns the names and first sentences of the tools that need no permission."""
    server = PlainErrors()
    add_all(server, Served(Service(Settings())))
    listed = asyncio.run(server.list_tools())
    return [{"name": tool.name, "description": (tool.description or "").split(". ")[0]} for tool in listed]


def main() -> None:
    dist = Path("dist")
    wheels = sorted(dist.glob("xkg-*.whl"))
    if len(wheels) != 1:
        raise SystemExit("dist holds no single wheel: run make dist")
    version = wheels[0].name.split("-")[1]
    repository = os.environ.get("XKG_REPOSITORY", "").rstrip("/").removesuffix(".git")
    folder = dist / "bundle"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copy(wheels[0], folder)
    shutil.copy("scripts/release/icon.png", folder)
    (folder / "pyproject.toml").write_text(_PYPROJECT.format(version=version, wheel=wheels[0].name), encoding="utf-8")
    told = json.dumps(manifest(version, tools_of_the_server(), repository), indent=2)
    (folder / "manifest.json").write_text(told + "\n", encoding="utf-8")
    if not (_MCPB / "node_modules/.bin/mcpb").exists():
        npm = ["npm", "install", "--prefix", str(_MCPB), "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run([*npm, "@anthropic-ai/mcpb@2"], check=True)
    mcpb = str(_MCPB / "node_modules/.bin/mcpb")
    packed = dist / f"xkg-{version}.mcpb"
    subprocess.run([mcpb, "validate", str(folder / "manifest.json")], check=True)
    subprocess.run([mcpb, "pack", str(folder), str(packed)], check=True)
    shutil.rmtree(folder)
    if repository:
        entry = json.dumps(server_json(version, repository, sha256_of(packed)), indent=2)
        (dist / "server.json").write_text(entry + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
