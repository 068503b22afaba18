"""Removes lines that a prompt already shows elsewhere."""

import re
from collections.abc import Mapping, Sequence

from xkg.build.guided.draft import Draft
from xkg.build.slicing.docstrings import with_first_lines_of_docstrings

_PART = re.compile(r"^(?=# --- )", re.MULTILINE)
_NOT_SHOWN = "# --- left out for room"
# Replacing a shorter run of lines would not save enough space.
_SHORTEST_RUN = 5
_MOST_LINES = 4_000
_MOST_CODE = 52_100  # bytes for lines, module and test together
_CUT = "\n… (cut)"


def compared_lines(draft: Draft, test: str = "") -> str:
    """Returns the source lines for a draft's own statements, without lines that its module repeats. The result is
    shortened to fit into a prompt together with the module and the test."""
    lines = unrepeated(draft.own_excerpt or draft.excerpt, draft.implementation, "the module")
    room = _MOST_CODE - sum(len(text.encode("utf-8", "replace")) for text in (draft.implementation, test))
    data = lines.encode("utf-8", "replace")
    return lines if len(data) <= room else data[: max(room, 0)].decode("utf-8", "ignore").rpartition("\n")[0] + _CUT


def unrepeated(text: str, known: str, source: str) -> str:
    """Returns the text without the signatures of omitted code, and with docstrings cut to their first line. Five or
    more consecutive lines that also occur in `known` (apart from indentation) are replaced by the first line and a
    comment such as `# … 4 lines of the code, to "return x"`. `source` is the name for `known` in such comments."""
    parts = _PART.split(text)
    text = with_first_lines_of_docstrings("".join(part for part in parts if not part.startswith(_NOT_SHOWN)))
    lines, others = text.rstrip("\n").split("\n"), with_first_lines_of_docstrings(known).split("\n")
    if len(lines) > _MOST_LINES or len(others) > _MOST_LINES:
        return text
    places: dict[str, list[int]] = {}
    for number, line in enumerate(others):
        if line.strip():
            places.setdefault(line.strip(), []).append(number)
    written: list[str] = []
    at = 0
    while at < len(lines):
        written.append(lines[at])
        length = _longest_run(lines, at, others, places)
        if length < _SHORTEST_RUN:
            at += 1
            continue
        margin, last = lines[at][: _margin(lines[at])], lines[at + length - 1].strip()
        written.append(f'{margin}# … {length - 1} lines of {source}, to "{last}"')
        at += length
    return "\n".join(written) + "\n"


def _longest_run(lines: Sequence[str], at: int, others: Sequence[str], places: Mapping[str, Sequence[int]]) -> int:
    """Returns the number of lines, starting at `at`, that also occur in `others` in the same order; 0 if `others` lacks
    the first line."""
    longest = 0
    for start in places.get(lines[at].strip(), ()) if not lines[at].startswith("# --- ") else ():
        shift = _margin(lines[at]) - _margin(others[start])
        length = 0
        while at + length < len(lines) and start + length < len(others):
            line, other = lines[at + length], others[start + length]
            if line.strip() != other.strip() or (line.strip() and _margin(line) - _margin(other) != shift):
                break
            length += 1
        while length and not lines[at + length - 1].strip():
            length -= 1
        longest = max(longest, length)
    return longest


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip())
