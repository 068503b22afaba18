"""A module's source lines as a check of the module reads them: without what the module itself shows already."""

import re
from collections.abc import Mapping, Sequence

from xkg.build.slicing.docstrings import with_first_lines_of_docstrings

_PART = re.compile(r"^(?=# --- )", re.MULTILINE)
_NOT_SHOWN = "# --- left out for room"
# Shorter runs are as long as what would stand for them.
_SHORTEST_RUN = 4
_MOST_LINES = 4_000


def compared_lines(excerpt: str, module: str) -> str:
    """The excerpt without signatures of what is not in it, and with the first lines of its docstrings. Of four or more
    lines that follow one another in the module, too, letter for letter but for their margin, it has the first and
    `# … and 3 more as in the module`."""
    parts = _PART.split(excerpt)
    text = with_first_lines_of_docstrings("".join(part for part in parts if not part.startswith(_NOT_SHOWN)))
    lines, others = text.rstrip("\n").split("\n"), module.split("\n")
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
        written.append(f"{lines[at][: _margin(lines[at])]}# … and {length - 1} more as in the module")
        at += length
    return "\n".join(written) + "\n"


def _longest_run(lines: Sequence[str], at: int, others: Sequence[str], places: Mapping[str, Sequence[int]]) -> int:
    """How many lines from `at` on follow one another in the others, too; 0 where the first is not there."""
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
