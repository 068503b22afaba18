"""Finds parsed papers that builds stored in a graph's folder."""

from pathlib import Path

from xkg.build.paper.document import Document
from xkg.build.stage_cache import document_key, folder_name, retained
from xkg.errors import XkgError
from xkg.model import Paper


def parsed_paper(graph: Path, paper: Paper) -> Document | None:
    """Returns the text that the paper's excerpt offsets refer to, or None if it is not on this machine."""
    if paper.source_sha256 is None or paper.pipeline_version is None:
        return None
    key = document_key(paper.source_sha256, paper.pipeline_version)
    try:
        return retained(graph / "work" / folder_name(paper.id), "document", key, Document)
    except XkgError:
        return None
