"""The graph's part of a planner's prompt: the product's own material (`xkg.agents.planning`), as text."""

from pathlib import Path

from xkg.agents.planning import with_model
from xkg.agents.planning.ablations import context
from xkg.agents.planning.material import Material, gather
from xkg.config import load
from xkg.errors import UnknownIdError
from xkg.serve.service import Service


def read_material(graph: Path, title: str) -> tuple[Material, str] | None:
    """The material and planning view of the paper with this title, None if the graph has no such paper. Raises
    `XkgError` for an unreadable graph."""
    service = Service(load(kg=graph))
    try:
        material = gather(service, title)
        return material, context(service, material.paper)
    except UnknownIdError:
        return None
    finally:
        service.close()


def has_paper(graph: Path, title: str) -> bool:
    """Whether a graph has a paper with this title. Raises `XkgError` for an unreadable graph."""
    service = Service(load(kg=graph))
    try:
        service.paper(title)
    except UnknownIdError:
        return False
    finally:
        service.close()
    return True


def in_words(material: Material, planning_view: str) -> str:
    """The planning view, and its components with possible replacements from other papers."""
    return f"{planning_view}\n\n# Components, with what other papers do\n\n{with_model.describe(material.components)}"
