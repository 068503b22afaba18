"""The confined worker's tasks for `xkg.agents.workspace.parsing.client`. What they need is imported before the first
call, since nothing can be imported afterwards."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xkg.agents.workspace.edits import EditError, FileEdit, applied
from xkg.agents.workspace.outline import outline
from xkg.build.requirements import requirement_lines
from xkg.build.slicing.scoping.imported_names import imported_packages
from xkg.sandbox.guest.worker import Call


def _packages(call: Call) -> bytes:
    """What the Python files import, and the lines of the files that state requirements."""
    requirements = dict(_files(call, "requirements"))
    return _dumped(
        {
            "imports": imported_packages(text for _, text in _marked(call, "sources")),
            "lines": requirement_lines(requirements, call.mark),
        }
    )


def _outlines(call: Call) -> bytes:
    return _dumped({"outlines": {path: _listed(text) for path, text in _marked(call, "texts")}})


def _apply(call: Call) -> bytes:
    """The files that edits change, or what is wrong with the edits."""
    call.mark("edits")
    try:
        edits = [FileEdit.model_validate(each) for each in call.payload["edits"]]
        return _dumped({"problem": None, "changed": applied(call.payload["texts"], edits)})
    except EditError as error:
        return _dumped({"problem": str(error)})


def _listed(text: str) -> dict[str, Any]:
    found = outline(text).model_dump(mode="json")
    return {**found, "executable": sorted(found["executable"]), "steps": sorted(found["steps"])}


def _marked(call: Call, name: str) -> Iterator[tuple[str, str]]:
    for path, text in _files(call, name):
        call.mark(path)
        yield path, text


def _files(call: Call, name: str) -> list[tuple[str, str]]:
    without = set(call.payload["without"])
    return sorted((path, text) for path, text in call.payload[name].items() if path not in without)


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


TASKS: Mapping[str, Callable[[Call], bytes]] = {
    "packages": _packages,
    "outlines": _outlines,
    "apply": _apply,
}
