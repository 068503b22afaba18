"""The confined worker's tasks for `xkg.agents.ablation.parsing.client`. What they need is imported before the first
call, since nothing can be imported afterwards."""

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xkg.agents.ablation.candidates import Candidate, Component, Place, Replacement
from xkg.agents.ablation.changed_code import changed_places, new_imports
from xkg.agents.ablation.checks import refusal
from xkg.agents.ablation.mutation import MutationError, apply, unified_diff
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.space import find_space
from xkg.agents.workspace.edits import EditError, FileEdit, applied
from xkg.agents.workspace.metric import Metric
from xkg.build.code.settings import Setting
from xkg.sandbox.guest.worker import Call


def _space(call: Call) -> bytes:
    given = call.payload
    sources, unparsed = _sources(call)
    executed = given["executed"]
    call.mark("")
    space, protected, shared = find_space(
        sources,
        [Setting.model_validate(each) for each in given["settings"]],
        given["texts"],
        [Component.model_validate(each) for each in given["techniques"]],
        given=given["given"],
        metric_keys=given["metric_keys"],
        metric=Metric.model_validate(given["metric"]),
        executed=None if executed is None else {path: frozenset(lines) for path, lines in executed.items()},
    )
    return _dumped(
        {
            "space": space.model_dump(mode="json"),
            "protected": [place.model_dump() for place in protected],
            "shared": [place.model_dump() for place in shared],
            "unparsed": unparsed,
        }
    )


def _functions(call: Call) -> bytes:
    """Every function with its lines and its source."""
    sources, _ = _sources(call)
    found = []
    for source in sources:
        lines = source.text.split("\n")
        for name, node in source.functions:
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            end = node.end_lineno or node.lineno
            found.append(
                {
                    "path": source.path,
                    "name": name,
                    "start_line": start,
                    "end_line": end,
                    "body_line": node.body[0].lineno,
                    "source": "\n".join(lines[start - 1 : end]),
                }
            )
    return _dumped({"functions": found})


def _mutate(call: Call) -> bytes:
    """The files that a candidate changes, their diff, and why it must not be run."""
    texts: Mapping[str, str] = call.payload["texts"]
    candidate = Candidate.model_validate(call.payload["candidate"])
    protected = [Place.model_validate(each) for each in call.payload["protected"]]
    try:
        after = apply(candidate.replacements, texts)
    except MutationError as error:
        return _dumped({"after": {}, "diff": "", "failure": "does not apply", "problem": str(error)})
    problem = refusal(candidate, texts, after, protected)
    parsed = problem is None
    return _dumped(
        {
            "after": after,
            "diff": unified_diff(texts, after),
            "failure": "refused" if problem else None,
            "problem": problem,
            "places": [each.model_dump() for each in changed_places(texts, after)] if parsed else [],
            "imports": [each.model_dump() for each in new_imports(texts, after)] if parsed else [],
        }
    )


def _edit(call: Call) -> bytes:
    """The files that edits change, the same as replacements, and the diff; or what is wrong with the edits."""
    call.mark("edits")
    texts: Mapping[str, str] = call.payload["texts"]
    try:
        changed = applied(texts, [FileEdit.model_validate(each) for each in call.payload["edits"]])
    except EditError as error:
        return _dumped({"problem": str(error)})
    replacements = [
        each.model_dump() for path, text in changed.items() for each in _replacements(path, texts.get(path, ""), text)
    ]
    before = {path: texts.get(path, "") for path in changed}
    return _dumped(
        {"problem": None, "changed": changed, "replacements": replacements, "diff": unified_diff(before, changed)}
    )


def _replacements(path: str, old: str, new: str) -> Sequence[Replacement]:
    """The change as replacements of whole lines."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        Replacement(
            path=path,
            start=starts[i1],
            end=starts[i2],
            old="".join(before[i1:i2]),
            new="".join(after[j1:j2]),
        )
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _sources(call: Call) -> tuple[list[PythonSource], list[str]]:
    """The Python files that parse, and the paths of those that do not."""
    sources, unparsed = [], []
    without = set(call.payload["without"])
    for path, text in sorted(call.payload["texts"].items()):
        if not path.endswith(".py") or path in without:
            continue
        call.mark(path)
        try:
            sources.append(PythonSource(path, text))
        except SyntaxError:
            unparsed.append(path)
    return sources, unparsed


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


TASKS: Mapping[str, Callable[[Call], bytes]] = {
    "space": _space,
    "functions": _functions,
    "mutate": _mutate,
    "edit": _edit,
}
