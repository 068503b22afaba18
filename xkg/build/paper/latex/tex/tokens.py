"""Finds the offsets of braces, arguments and environments in TeX in one pass, even if some are never closed."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

VERBATIM = ("verbatim", "verbatim*", "Verbatim", "lstlisting", "minted")

_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_SPACE = re.compile(r"[ \t]*+(?:%[^\n]{0,300}+\n[ \t]*+)*+(?:\n[ \t]*+(?!\n))?+")
_BRACKET = re.compile(r"\\.|[\]{}]|\n[ \t]*\n", re.DOTALL)
_MOST_OPTIONS = 9  # TeX macros take at most nine arguments
_LONGEST_OPTION = 1000
_GROUP = re.compile(r"\\(?:(?:begin|b)(?P<opens>group)|(?:end|e)group)(?![a-zA-Z@])")
_INCLUDED = re.compile(r"\\includecomment[ \t]*+\{([a-zA-Z*]{1,40})\}")  # the environment's body is not a TeX group
# A brace starts an argument if it follows this text.
_TAKES = re.compile(r"(?:[}\]]|\\[a-zA-Z@]{1,60}\*?)[ \t]{0,20}+\n?[ \t]{0,20}+\Z")
_AFTER_END = re.compile(r"\\(?:end\{[^{}]{1,60}\}|begin\{document\})\s{0,20}+\Z")
_BEGIN_END = r"\\(begin|end)[ \t]*+\{([^{}\\\n]{1,60})\}"


@dataclass(frozen=True, slots=True)
class Group:
    """An argument of a TeX command. The inner text spans `start` to `end`, and the following text starts at `after`."""

    start: int
    end: int
    after: int


@dataclass(frozen=True, slots=True)
class Environment:
    r"""A LaTeX environment. `\begin{name}` is at `start`, the body spans `body_start` to `body_end`, and the text after
    the environment starts at `end`."""

    name: str
    start: int
    body_start: int
    body_end: int
    end: int
    closed: bool = True


class Tex:
    """TeX text with matched braces. If an argument's brace is never closed, the argument ends at the end of the
    line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._partner = _partners(text)

    def unclosed(self, start: int, end: int) -> int | None:
        braces = (m.start() for m in _BRACE.finditer(self.text, start, end) if m.group() == "{")
        return next((at for at in braces if at not in self._partner), None)

    def pairs(self) -> Iterable[tuple[int, int]]:
        """Returns the offsets of the opening and closing braces of all groups."""
        return self._partner.items()

    def space(self, position: int) -> int:
        """Returns the offset after any spaces and comments, and at most one line break."""
        match = _SPACE.match(self.text, position)
        return match.end() if match else position

    def group(self, position: int) -> Group | None:
        """Returns the braced argument at `position`, after any spaces, or None if there is none."""
        start = self.space(position)
        if not self.text.startswith("{", start):
            return None
        end = self._partner.get(start)
        if end is None:
            line_end = self.text.find("\n", start, start + 200)
            end = min(start + 200, len(self.text)) if line_end < 0 else line_end
            return Group(start + 1, end, end)
        return Group(start + 1, end, end + 1)

    def option(self, position: int) -> Group | None:
        """Returns the bracketed argument at `position`, or None if there is none that closes within the paragraph."""
        start = self.space(position)
        if not self.text.startswith("[", start):
            return None
        at, limit = start + 1, min(len(self.text), start + _LONGEST_OPTION)
        if self.text.find("]", at, limit) < 0:
            return None
        while match := _BRACKET.search(self.text, at, limit):
            token = match.group()
            if token == "]":
                return Group(start + 1, match.start(), match.end())
            if token == "{":
                partner = self._partner.get(match.start())
                if partner is None or partner >= limit:
                    return None
                at = partner + 1
            elif token[0] == "\\":
                at = match.end()
            else:
                return None
        return None

    def skip_options(self, position: int) -> int:
        for _ in range(_MOST_OPTIONS):
            option = self.option(position)
            if option is None:
                break
            position = option.after
        return position

    def argument(self, position: int) -> Group | None:
        """Returns the argument at `position` as TeX reads it: a group, a control sequence or a single character."""
        start = self.space(position)
        if group := self.group(start):
            return group
        match = re.compile(r"\\(?:[a-zA-Z@]+|.)|[^\\{}\s]", re.DOTALL).match(self.text, start)
        return Group(start, match.end(), match.end()) if match else None

    def inner(self, group: Group) -> str:
        return self.text[group.start : group.end]


class Groups:
    r"""Finds the ends of TeX groups. Groups are environments, `\begingroup`, and braces that are not arguments."""

    def __init__(self, tex: Tex) -> None:
        text = tex.text
        spans = [
            (s, e)
            for s, e in tex.pairs()
            if not _TAKES.search(text, max(0, s - 100), s) or _AFTER_END.search(text, max(0, s - 100), s)
        ]
        no_groups = {"document", *_INCLUDED.findall(text)}
        spans += [(e.start, e.end) for e in environments(text) if e.closed and e.name not in no_groups]
        opened: list[int] = []
        for match in _GROUP.finditer(text):
            if match["opens"]:
                opened.append(match.start())
            elif opened:
                spans.append((opened.pop(), match.end()))
        self._later = sorted(spans, reverse=True)
        self._open: list[int] = []

    def end_around(self, at: int) -> int | None:
        """Returns the end of the innermost group around `at`. Offsets must not decrease from call to call."""
        while self._later and self._later[-1][0] <= at:
            self._open.append(self._later.pop()[1])
        while self._open and self._open[-1] <= at:
            self._open.pop()
        return self._open[-1] if self._open else None


def _partners(text: str) -> dict[int, int]:
    stack: list[int] = []
    partner: dict[int, int] = {}
    for match in _BRACE.finditer(text):
        token = match.group()
        if token == "{":
            stack.append(match.start())
        elif token == "}" and stack:
            partner[stack.pop()] = match.start()
    return partner


def environments(text: str, aliases: Mapping[str, tuple[str, str]] | None = None) -> list[Environment]:
    r"""Returns all environments, ordered by start. Does not parse the body of a verbatim environment.

    `aliases` maps macro names to their meaning, as in `{"be": ("begin", "equation")}`. An `\end` closes the innermost
    open environment with the same name; any still open inside are treated as unclosed and empty."""
    names = "|".join(re.escape(name) for name in aliases or ())
    pattern = re.compile(_BEGIN_END + (rf"|\\({names})(?![a-zA-Z@])" if names else r"|(\Z.)"))
    environments: list[Environment] = []
    stack: list[tuple[str, int, int]] = []
    open_count: dict[str, int] = {}
    never_ends: set[str] = set()
    at = 0

    def unclosed(entry: tuple[str, int, int]) -> None:
        open_count[entry[0]] -= 1
        environments.append(Environment(entry[0], entry[1], entry[2], entry[2], entry[2], closed=False))

    while match := pattern.search(text, at):
        at = match.end()
        if match.group(3):
            kind, name = (aliases or {})[match.group(3)]
        else:
            kind, name = match.group(1), match.group(2).strip()
        if kind == "begin":
            if name in VERBATIM and name not in never_ends:
                close = text.find(f"\\end{{{name}}}", at)
                if close < 0:
                    never_ends.add(name)
                else:
                    environments.append(Environment(name, match.start(), at, close, close + len(name) + 6))
                    at = close + len(name) + 6
                    continue
            stack.append((name, match.start(), at))
            open_count[name] = open_count.get(name, 0) + 1
        elif open_count.get(name):
            while stack[-1][0] != name:
                unclosed(stack.pop())
            entry = stack.pop()
            open_count[name] -= 1
            environments.append(Environment(name, entry[1], entry[2], match.start(), at))
    while stack:
        unclosed(stack.pop())
    return sorted(environments, key=lambda e: (e.start, -e.end))


def outside(text: str, spans: Iterable[tuple[int, int]], mark: str = "") -> str:
    """Replaces each span of the text with `mark`. Spans may overlap."""
    pieces, at = [], 0
    for start, end in sorted(spans):
        pieces.append(text[at:start])
        at = max(at, end)
    return mark.join([*pieces, text[at:]])


_Placed = TypeVar("_Placed")


def between(items: Sequence[_Placed], start: int, end: int) -> Sequence[_Placed]:
    """Returns the items that start between `start` (inclusive) and `end` (exclusive). Items must be sorted by
    `start`."""
    by_start = attrgetter("start")
    return items[bisect_left(items, start, key=by_start) : bisect_left(items, end, key=by_start)]
