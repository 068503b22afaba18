"""Removes lines from a prompt that the prompt already shows elsewhere."""

import difflib
import re
from collections.abc import Sequence

from xkg.build.guided.draft import Draft
from xkg.build.slicing.docstrings import with_first_lines_of_docstrings

_PART = re.compile(r"^(?=# --- )", re.MULTILINE)
_NOT_SHOWN = "# --- left out for room"
# Replacing a shorter run of lines would save too little space.
_SHORTEST_RUN = 5
_MOST_LINES = 4_000
_MOST_CODE = 52_100  # the maximum total bytes of the lines, module and test
_CUT = "\n… (cut)"


def compared_lines(draft: Draft, test: str = "") -> str:
    """Returns the source lines for a draft's own statements, without those repeated in its module. Shortens them to fit
    into a prompt with the module and the test."""
    lines = unrepeated(draft.own_excerpt or draft.excerpt, draft.implementation, "the module")
    room = _MOST_CODE - sum(len(text.encode("utf-8", "replace")) for text in (draft.implementation, test))
    data = lines.encode("utf-8", "replace")
    return lines if len(data) <= room else data[: max(room, 0)].decode("utf-8", "ignore").rpartition("\n")[0] + _CUT


def unrepeated(text: str, known: str, source: str) -> str:
    """Removes the signatures of omitted code and shortens docstrings to their first line.

    Keeps only the first of five or more consecutive lines that also occur in `known`, ignoring indentation, plus a
    comment such as `# … 4 lines of the code, to "return x"`. The comment calls `known` by the name `source`."""
    parts = _PART.split(text)
    text = with_first_lines_of_docstrings("".join(part for part in parts if not part.startswith(_NOT_SHOWN)))
    lines, others = text.rstrip("\n").split("\n"), with_first_lines_of_docstrings(known).split("\n")
    if len(lines) > _MOST_LINES or len(others) > _MOST_LINES:
        return text
    matcher = difflib.SequenceMatcher(None, _with_steps(lines), _with_steps(others), autojunk=False)
    for at, there, length in reversed(matcher.get_matching_blocks()):
        if at and there and lines[at - 1].strip() == others[there - 1].strip():
            at, length = at - 1, length + 1  # the first line of a run may have a different indentation
        if length >= _SHORTEST_RUN:
            margin, last = lines[at][: _indentation(lines[at])], lines[at + length - 1].strip()
            lines[at + 1 : at + length] = [f'{margin}# … {length - 1} lines of {source}, to "{last}"']
    return "\n".join(lines) + "\n"


def _with_steps(lines: Sequence[str]) -> list[tuple[str, int]]:
    """Returns each line without its indentation, and the change in indentation since the previous line."""
    found, before = list[tuple[str, int]](), 0
    for line in lines:
        after = _indentation(line) if line.strip() else before
        found.append((line.strip(), after - before))
        before = after
    return found


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
