"""The confined worker's tasks for `xkg.agents.workspace.parsing.client`. What they need is imported before the first
call, since nothing can be imported afterwards."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from xkg.agents.workspace.edits import EditError, FileEdit, applied
from xkg.agents.workspace.escapes import MOST_DOUBTS, doubts, escapes
from xkg.agents.workspace.evaluation import changed_evaluation, evaluation
from xkg.agents.workspace.metric import Metric
from xkg.agents.workspace.outline import outline
from xkg.build.requirements import requirement_lines
from xkg.build.slicing.scoping.imported_names import imported_packages
from xkg.errors import MissingMetricError, NotANumberError
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


def _evaluation(call: Call) -> bytes:
    """The parts of the starter's evaluation that changed. New files that cannot be parsed may assign over any of it."""
    given = call.payload
    before: Mapping[str, str] = given["before"]
    changed: Mapping[str, str] = given["changed"]
    metric, without = Metric.model_validate(given["metric"]), set(given["without"])

    def parts(files: Mapping[str, str]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for path, text in files.items():
            call.mark(path)
            found[path] = evaluation({path: text}, metric, given["protect"], without)
        return found

    starter = parts(before)
    now = {path: of for path, of in starter.items() if path not in given["gone"]} | parts(changed)
    digests = _joined(starter)
    changes = changed_evaluation(digests, _joined(now), {})
    for path, text in changed.items():
        if path in without:
            changes += [] if path in before else [f"{path} cannot be parsed"]
            continue
        call.mark(path)
        old = {} if path not in before or path in without else {path: before[path]}
        changes += changed_evaluation(digests, digests, {path: text}, old)
    return json.dumps({"changes": changes}).encode()


def _escapes(call: Call) -> bytes:
    """Means that changed files begin to use; of a new file, those that no file had."""
    old = {path: escapes(text) for path, text in _marked(call, "before")}
    anywhere = frozenset[str]().union(*old.values())
    found = []
    for path, text in _marked(call, "after"):
        new = escapes(text) - old.get(path, anywhere)
        found += [f"{path} begins to use {each}" for each in sorted(new)]
    return _dumped({"escapes": found})


def _doubts(call: Call) -> bytes:
    lines, metric = call.payload["lines"], call.payload["metric"]
    found = [line for path, text in _marked(call, "texts") for line in doubts(path, text, set(lines[path]), metric)]
    return _dumped({"doubts": found[:MOST_DOUBTS]})


def _metric(call: Call) -> bytes:
    """The value of a metric, or why there is none. Its pattern may backtrack for hours."""
    given = call.payload
    metric = Metric.model_validate(given["metric"])
    call.mark("metric")
    try:
        value = metric.read(given["output"], {path: base64.b64decode(text) for path, text in given["files"].items()})
        return _dumped({"value": value})
    except MissingMetricError as error:
        return _dumped({"missing": str(error)})
    except NotANumberError as error:
        return _dumped({"no_number": str(error)})


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


def _joined(parts: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return dict(sorted(item for of in parts.values() for item in of.items()))


TASKS: Mapping[str, Callable[[Call], bytes]] = {
    "packages": _packages,
    "outlines": _outlines,
    "apply": _apply,
    "evaluation": _evaluation,
    "escapes": _escapes,
    "doubts": _doubts,
    "metric": _metric,
}
