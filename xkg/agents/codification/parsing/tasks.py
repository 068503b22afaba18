"""The confined worker's tasks for `xkg.agents.codification.parsing.client`. What they need is imported before the first
call, since nothing can be imported afterwards."""

import json
from collections.abc import Callable, Mapping

from xkg.agents.codification.protected import changed_settings, settings
from xkg.sandbox.guest.worker import Call


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


TASKS: Mapping[str, Callable[[Call], bytes]] = {"settings": _settings}
