"""The confined worker's tasks for `xkg.agents.codification.parsing.client`. What they need is imported before the first
call, since nothing can be imported afterwards."""

import json
from collections.abc import Callable, Mapping

from xkg.agents.codification.protected import changed_evaluation, changed_settings, evaluation, settings
from xkg.agents.workspace.metric import Metric
from xkg.sandbox.guest.worker import Call


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


def _settings(call: Call) -> bytes:
    """The settings of the starter that have another value now, with both."""
    without = set(call.payload["without"])

    def values(files: Mapping[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for path, text in files.items():
            call.mark(path)
            found |= settings({path: text}, without)
        return found

    changes = changed_settings(values(call.payload["before"]), values(call.payload["after"]))
    return json.dumps({"changes": changes}).encode()


def _joined(parts: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return dict(sorted(item for of in parts.values() for item in of.items()))


TASKS: Mapping[str, Callable[[Call], bytes]] = {"evaluation": _evaluation, "settings": _settings}
