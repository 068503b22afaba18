"""Finds a symbol's working lines. Signatures, docstrings, comments, imports, logging and bookkeeping do not count.

Relies only on brackets and indentation, so it works for all languages."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xkg.build.code.codebase import CommentMark
from xkg.build.grounding.index.identifier_words import words

LOGGING = "log logs logger loggers logging wandb tensorboard writer tqdm print verbose profile"
"""Words in the names of functions that only report progress or results."""
_LOGGING = frozenset(LOGGING.split())

_TAB = 4
_LONGEST = 150  # lines in a statement, because a bracket in an unrecognised string may never be closed
_OPENING: Mapping[CommentMark, re.Pattern[str]] = {
    "#": re.compile(r"\"\"\"|'''"),
    "//": re.compile(r"/\*"),
    "%": re.compile(r"%\{\s*$"),
}
_CLOSING = {"/*": "*/", "%{": "%}"}
_STRING = re.compile(r"\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'")
_HEADER = re.compile(r"(?:async\s|export\s|static\s|pub\s)*+(?:def|class|function|fn|struct)\b|@")
_IMPORT = re.compile(r"(?:import|from|using|use|require)\b[^=(]*+(?:\(|$)|#include")
_EMPTY = r"(?:\[\]|\{\}|\(\)|None|True|False|-?0(?:\.0*)?|s|(?:list|dict|set|tuple|time\.\w+|\w+\.time)\(\))"
_TARGET = r"(?:self\.|this->)?\w++"
_BOOKKEEPING = re.compile(
    rf"(?:{_TARGET}(?:\s*,\s*{_TARGET})*+\s*(?::[^=]*+)?=\s*+{_EMPTY}(?:\s*,\s*{_EMPTY})*+"  # an empty list, a counter
    r"|(?:self\.|this->)\w++\s*(?::[^=]*+)?=\s*+\w++"  # self.rate = rate
    r"|[\w.\[\]'-]+\.(?:append|pop|extend|clear|update)\([\w.\[\]-]*+(?:\(\))?\)"  # losses.append(loss.item())
    r"|\w++\s*\+=\s*1"
    r"|(?:assert|raise|throw|del|global|nonlocal|super)\b.*+);?"
)
_RECORDING = re.compile(r"[\w.\[\]'-]+\.(?:append|extend|update)\(.*")
_NEUTRAL = re.compile(
    r"[\])}\s;,:]*+(?:(?:pass|\.\.\.|break|continue|else|try|finally|end|return(?:[\s\w,.]*+)"
    r"|\w++(?:,\s*+\w++)*+\s*+=\s*+[\w.]++(?:,\s*+[\w.]++)*+)[\s:{;]*+)?"
)


@dataclass(frozen=True)
class Statement:
    """A statement on lines `first` to `last`, without its body. In `text`, comments are removed and each string is
    replaced with `s`."""

    first: int
    last: int
    indent: int
    text: str


def working_ranges(
    lines: Sequence[str], first: int, last: int, *, mark: CommentMark, signed: Container[int] = ()
) -> list[tuple[int, int]]:
    """Returns the ranges of working lines within lines `first` to `last` (1-based, inclusive). `mark` is the string
    that starts a comment. `signed` contains the line numbers where signatures start."""
    found = list(statements(lines, first, min(last, len(lines)), mark=mark))
    states = [_state(statement.text) for statement in found]
    if "working" not in states:  # a function may do nothing but record a loop's results
        states = ["working" if state == "recording" else state for state in states]
    for at, statement in enumerate(found):
        if statement.first in signed:
            states[at] = "idle"
    for at in range(len(found) - 2, -1, -1):  # a header has the same state as the first statement in its body
        if found[at + 1].indent > found[at].indent and states[at] != "idle":
            states[at] = states[at + 1]
    runs: list[tuple[int, int]] = []
    broken = True  # True if the next working statement starts a new range
    for statement, state in zip(found, states, strict=True):
        if state == "working" and broken:
            runs.append((statement.first, statement.last))
        elif state == "working":
            runs[-1] = runs[-1][0], statement.last
        broken = state == "idle" or (broken and state != "working")
    return runs


def made_attributes(lines: Sequence[str], *, mark: CommentMark) -> Iterator[tuple[int, int, str]]:
    """Yields each statement in a constructor that creates an attribute, such as `self.act = GELU()`. Each item consists
    of the first line, the last line and the attribute's name."""
    for statement in statements(lines, 1, len(lines), mark=mark):
        made = re.match(r"(?:self|this)(?:\.|->)(\w+)\s*+=\s*+(?:new\s+)?[\w.]++\(", statement.text)
        if made:
            yield statement.first, statement.last, made[1]


def _state(text: str) -> str:
    if _HEADER.match(text) or _IMPORT.match(text) or _BOOKKEEPING.fullmatch(text) or text == "s":
        return "idle"
    called = re.match(r"[\w.]++(?=\()", text)
    if called and _LOGGING & set(words(called[0])):
        return "idle"
    if _NEUTRAL.fullmatch(text):
        return "neutral"
    return "recording" if _RECORDING.fullmatch(text) else "working"


def statements(lines: Sequence[str], first: int, last: int, *, mark: CommentMark) -> Iterator[Statement]:
    """Yields the statements that start on lines `first` to `last`, in order. `mark` is the string that starts a
    comment."""
    start = depth = indent = 0
    inside, parts = "", list[str]()  # the delimiter that closes an open multi-line string or comment
    for number in range(first, last + 1):
        line = lines[number - 1]
        text, inside = _bare(line, inside, mark=mark)
        if not text and not inside and not start:
            continue
        if not start:
            start, indent = number, len(line.expandtabs(_TAB)) - len(line.expandtabs(_TAB).lstrip())
        parts.append(text)
        depth = max(0, depth + sum(map(text.count, "([")) - sum(map(text.count, ")]")))
        if number in (last, start + _LONGEST) or not (depth or inside or text.endswith("\\")):
            if whole := " ".join(filter(None, parts)):
                yield Statement(start, number, indent, whole)
            start, depth, parts = 0, 0, []


def _bare(line: str, inside: str, *, mark: CommentMark) -> tuple[str, str]:
    """Removes comments from a line and replaces each string with `s`. Also returns the closing delimiter of a string or
    comment that is still open at the end of the line."""
    text = ""
    while True:
        if inside:
            _, closed, line = line.partition(inside)
            if not closed:
                return text.strip(), inside
            text += "s" if inside not in _CLOSING.values() else ""
            inside = ""
        opening = _OPENING[mark].search(line)
        before = _STRING.sub("s", line[: opening.start()] if opening else line)
        head, comment, _ = before.partition(mark)
        text += head
        if opening is None or comment:
            return text.strip(), ""
        inside, line = _CLOSING.get(opening[0], opening[0]), line[opening.end() :]
