"""The source lines that a review compares with a module, without lines that the module itself shows."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from xkg.build.code.languages.python import parse_ast
from xkg.build.guided.draft import Draft
from xkg.build.similarity.fidelity import unmatched
from xkg.build.similarity.statements import statements
from xkg.build.slicing.docstrings import with_first_lines_of_docstrings

_PART = re.compile(r"^(?=# --- )", re.MULTILINE)
_NOT_SHOWN = "# --- left out for room"
# Replacing a shorter run would save too little.
_SHORTEST_RUN = 4
_MOST_LINES = 4_000
_MOST_CODE = 52_100  # bytes of lines, module and test
_CUT = "\n… (cut)"


def compared_lines(drafts: Sequence[Draft], module: str, test: str = "", *, only_used: bool = False) -> str:
    """The source lines of the drafts' own statements, without those that the shown `module` (of several drafts, their
    modules) repeats, cut to fit into a prompt together with module and test. With `only_used`, functions of which the
    module has nothing are outlines."""
    shown: list[str] = []
    known = module
    for excerpt in dict.fromkeys(draft.own_excerpt or draft.excerpt for draft in drafts):
        text = with_unused_outlined(excerpt, module) if only_used else excerpt
        shown.append(unrepeated(text, known))
        known = f"{known}\n{text}"
    lines = "\n".join(shown)
    room = _MOST_CODE - sum(len(text.encode("utf-8", "replace")) for text in (module, test))
    data = lines.encode("utf-8", "replace")
    return lines if len(data) <= room else data[: max(room, 0)].decode("utf-8", "ignore").rpartition("\n")[0] + _CUT


def unrepeated(excerpt: str, known: str) -> str:
    """The excerpt without the signatures of omitted code, and with only the first lines of docstrings. A run of four or
    more lines that `known` repeats, apart from indentation, becomes its first line and
    `# … and 3 more as shown elsewhere`."""
    parts = _PART.split(excerpt)
    text = with_first_lines_of_docstrings("".join(part for part in parts if not part.startswith(_NOT_SHOWN)))
    lines, others = text.rstrip("\n").split("\n"), known.split("\n")
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
        written.append(f"{lines[at][: _margin(lines[at])]}# … and {length - 1} more as shown elsewhere")
        at += length
    return "\n".join(written) + "\n"


def with_unused_outlined(excerpt: str, module: str) -> str:
    """The excerpt. Of functions and methods of which no statement has a counterpart in the module, only the heads."""
    tree = parse_ast(excerpt)
    if tree is None:
        return excerpt
    lines, after = excerpt.split("\n"), 0
    foreign = {statement.line for statement in unmatched(excerpt, module)}
    own = {statement.line for statement in statements(excerpt)} - foreign
    shown: list[str] = []
    for first, last in _unused(tree, own):
        shown += [
            *lines[after:first],
            f"{lines[first][: _margin(lines[first])]}# … {last - first} lines, left out",
        ]
        after = last
    return "\n".join([*shown, *lines[after:]])


def _unused(node: ast.AST, own: set[int]) -> Iterator[tuple[int, int]]:
    """The bodies, as ranges of line indices, of the outermost functions in a node that have no line of `own`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            first, last = child.body[0].lineno - 1, child.end_lineno or child.lineno
            if first >= child.lineno and last - first >= _SHORTEST_RUN and own.isdisjoint(range(first + 1, last + 1)):
                yield first, last
                continue
        yield from _unused(child, own)


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
