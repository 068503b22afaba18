"""What an agent changed of the starter's settings, found in the confined process."""

from collections.abc import Mapping

from xkg.agents.codification import protected
from xkg.agents.workspace.parsing import SourceReader, Without
from xkg.build.parsing.typed_tasks import Mark, tasks

Changes = dict[str, tuple[str, str]]


def changed_settings(mark: Mark, before: Mapping[str, str], after: Mapping[str, str], without: Without) -> Changes:
    """The settings of `before` that have another value in `after`, with both."""

    def values(files: Mapping[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for path, text in files.items():
            mark(path)
            found |= protected.settings({path: text}, set(without))
        return found

    return protected.changed_settings(values(before), values(after))


TASKS = tasks(changed_settings)


class CodeReader(SourceReader):
    """The reader of a run. A file that ends the process counts as changed where it differs at all."""

    def setting_changes(self, before: Mapping[str, str], after: Mapping[str, str]) -> Changes:
        """The settings of the texts `before` that are others in the texts `after`, with both values. Raises
        `UnsafeInputError`."""
        differing = {path for path, text in before.items() if after.get(path) != text and protected.may_set(path)}
        if not differing:
            return {}
        texts = {
            "before": {path: text for path, text in before.items() if path in differing},
            "after": {path: text for path, text in after.items() if path in differing},
        }
        return self.of_files(changed_settings, texts)

    def notes(self) -> tuple[str, ...]:
        """A line for each file that ended the process."""
        return tuple(
            f"{path} cannot be parsed ({why}): every change of it counts as one of the evaluation and the settings"
            for path, why in self.left_out.items()
        )
