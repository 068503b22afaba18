"""Compares an agent's changes with the starter in the confined process. Also builds file versions that reveal the
effects of the changes."""

from collections.abc import Mapping
from contextlib import suppress

from xkg.agents.ablation.parsing import python_sources
from xkg.agents.ablation.space.measurement import changed_sources, changed_values, leaked
from xkg.agents.ablation.space.seeds import find_seeds
from xkg.agents.codification import protected
from xkg.agents.codification.reverted import Reverted, Watched, reverted, watched
from xkg.agents.workspace.parsing import SourceReader, Texts, Without, marked
from xkg.agents.workspace.program.metric import Metric
from xkg.build.parsing.typed_tasks import Mark, tasks

Changes = dict[str, tuple[str, str]]


def changed_settings(mark: Mark, before: Mapping[str, str], after: Mapping[str, str], without: Without) -> Changes:
    """Returns the settings whose values differ between `before` and `after`, with both values."""

    def values(files: Mapping[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for path, text in files.items():
            mark(path)
            found |= protected.settings({path: text}, set(without))
        return found

    return protected.changed_settings(values(before), values(after))


def reverted_versions(
    mark: Mark,
    before: Texts,
    after: Texts,
    changed: Mapping[str, frozenset[int]],
    ran: Mapping[str, frozenset[int]],
    without: Without,
) -> tuple[Reverted, ...]:
    """Calls `reverted` for all files, and skips invalid Python."""
    found: list[Reverted] = []
    for path, text in marked(mark, after, without):
        with suppress(SyntaxError, ValueError, RecursionError):
            found += reverted(path, before[path], text, changed[path], ran[path])
    return tuple(found)


def watched_files(
    mark: Mark, texts: Texts, lines: Mapping[str, frozenset[int]], without: Without
) -> dict[str, Watched]:
    """Calls `watched` for all files, and returns the results that contain arithmetic operations in these lines."""
    found: dict[str, Watched] = {}
    for path, text in marked(mark, texts, without):
        with suppress(SyntaxError, ValueError, RecursionError):
            found[path] = watched(path, text, lines[path])
    return {path: file for path, file in found.items() if file.operations}


def printed_changes(mark: Mark, before: Texts, after: Texts, metric: Metric, without: Without) -> dict[str, str]:
    """Returns the changes in code that computes the metric, and new fixed seeds, keyed by name or line."""
    old, new = (list(python_sources(mark, texts, without)) for texts in (before, after))
    differing = [*changed_values(old, new, metric), *changed_sources(old, new, metric)]
    found = dict.fromkeys(differing, "this code computes the printed metric, and differs from the starter's")
    for name, read in leaked(old, new, metric).items():
        text = f"it reads {', '.join(read)[:100]}, which the starter reads only to compute the metric"
        found[name] = f"{found[name]}; {text}" if name in found else text
    known = {(seed.place.path, seed.at.old) for seed in find_seeds(old, (), {}, "").found}
    for seed in find_seeds(new, (), {}, "").found:
        if (seed.place.path, seed.at.old) not in known:
            found[f"{seed.place.path}:{seed.place.start_line}"] = f"{seed.at.old} is a new fixed seed"
    return found


TASKS = tasks(changed_settings, reverted_versions, watched_files, printed_changes)


class CodeReader(SourceReader):
    """Parses the code in one run. A file that crashes the parsing process counts as changed if its text differs."""

    def setting_changes(self, before: Mapping[str, str], after: Mapping[str, str]) -> Changes:
        """Returns the settings that differ between the texts `before` and `after`, with both values. Raises
        `UnsafeInputError` if a text is unsafe to parse."""
        differing = {path for path, text in before.items() if after.get(path) != text and protected.may_set(path)}
        if not differing:
            return {}
        texts = {
            "before": {path: text for path, text in before.items() if path in differing},
            "after": {path: text for path, text in after.items() if path in differing},
        }
        return self.of_files(changed_settings, texts)

    def printed_changes(self, before: Texts, after: Texts, metric: Metric) -> dict[str, str]:
        """Describes the changes in code that computes the metric, by `path::function`. Raises `UnsafeInputError` if a
        text is unsafe to parse."""
        texts = {
            name: {path: text for path, text in of.items() if path.endswith(".py")}
            for name, of in (("before", before), ("after", after))
        }
        return self.of_files(printed_changes, texts, metric=metric)

    def notes(self) -> tuple[str, ...]:
        """Returns one line per file that crashed the parsing process."""
        return tuple(
            f"{path} cannot be parsed ({why}): every change to it counts as a change to the evaluation and the settings"
            for path, why in self.left_out.items()
        )
