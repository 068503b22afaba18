"""What the package says of where its source is published: project URLs, links of the README that work on an index, and
the line by which the MCP registry knows its owner. `XKG_REPOSITORY` is the address (https://github.com/OWNER/NAME),
`XKG_REF` the tag or commit; without them, as in an editable installation, the README stays as it is."""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)(\[(?:[^\[\]]|\[[^\[\]]*\])*\]\()(?!https?:|mailto:|#)([^()\s]+)\)")


class Published(MetadataHookInterface):
    """Called by hatchling."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if repository := os.environ.get("XKG_REPOSITORY", "").rstrip("/").removesuffix(".git"):
            ref = os.environ.get("XKG_REF") or "HEAD"
            metadata["urls"] = {
                "Homepage": repository,
                "Documentation": f"{repository}/blob/{ref}/docs/index.md",
                "Source": repository,
                "Issues": f"{repository}/issues",
                "Changelog": f"{repository}/blob/{ref}/CHANGELOG.md",
            }
            text = f"{absolute(text, repository, ref)}\n<!-- mcp-name: {registry_name(repository)} -->\n"
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute(text: str, repository: str, ref: str) -> str:
    """Markdown whose relative links lead to the repository, and its pictures to their bytes."""

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        return f"{picture}{words}{repository}/{'raw' if picture else 'blob'}/{ref}/{target})"

    return _LINK.sub(link, text)


def registry_name(repository: str) -> str:
    """The name in the MCP registry, whose first half the owner of a repository on GitHub may use."""
    owner, name = repository.split("/")[-2:]
    return f"io.github.{owner}/{name}"
