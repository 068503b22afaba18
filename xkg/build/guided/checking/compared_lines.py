"""The source lines that a review compares with a module, without lines that the module itself shows."""

import re
from collections.abc import Mapping, Sequence

from xkg.build.slicing.docstrings import with_first_lines_of_docstrings

_PART = re.compile(r"^(?=# --- )", re.MULTILINE)
_NOT_SHOWN = "# --- left out for room"
# Replacing a shorter run would save too little.
_SHORTEST_RUN = 4
_MOST_LINES = 4_000


def compared_lines(excerpt: str, module: str) -> str:
    """The excerpt without the signatures of omitted code, and with only the first lines of docstrings. A run of four or
    more lines that the module repeats, apart from indentation, becomes its first line and `# … and 3 more as in the
    module`."""
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
    """The number of lines from `at` on that the others repeat in the same order; 0 if they lack the first."""
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
