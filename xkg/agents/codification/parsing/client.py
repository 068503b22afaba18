"""Asks a confined process what of the starter's settings an agent changed."""

from collections.abc import Mapping

from xkg.agents.codification.protected import may_set
from xkg.agents.workspace.parsing.client import SourceReader
from xkg.value import Value


class _Settings(Value):
    changes: dict[str, tuple[str, str]]


class CodeReader(SourceReader):
    """The reader of a run. A file that ends the process counts as changed where it differs at all."""

    modules = ("xkg.agents.codification.parsing.tasks",)

    def setting_changes(self, before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
        """The settings of the texts `before` that are others in the texts `after`, with both values. Raises
        `UnsafeInputError`."""
        differing = {path for path, text in before.items() if after.get(path) != text and may_set(path)}
        if not differing:
            return {}
        payload = {
            "before": {path: text for path, text in before.items() if path in differing},
            "after": {path: text for path, text in after.items() if path in differing},
        }
        return self.of_files("settings", payload, _Settings, (payload["before"], payload["after"]))[0].changes

    def notes(self) -> tuple[str, ...]:
        """A line for each file that ended the process."""
        return tuple(
            f"{path} cannot be parsed ({why}): every change of it counts as one of the evaluation and the settings"
            for path, why in self.left_out.items()
        )
