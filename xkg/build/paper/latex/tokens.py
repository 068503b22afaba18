"""TeX as it is written: braces, arguments and environments found by offsets, in one pass, whatever is unclosed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

VERBATIM = ("verbatim", "verbatim*", "Verbatim", "lstlisting", "minted")

_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_SPACE = re.compile(r"[ \t]*+(?:\n[ \t]*+(?!\n))?+")
_BRACKET = re.compile(r"\\.|[\]{}]|\n[ \t]*\n", re.DOTALL)
_MOST_OPTIONS = 9  # no macro takes more arguments
_LONGEST_OPTION = 1000
_BEGIN_END = r"\\(begin|end)[ \t]*+\{([^{}\\\n]{1,60})\}"


@dataclass(frozen=True, slots=True)
class Group:
    """An argument: its inner text is `start` to `end`, and `after` is where reading goes on."""

    start: int
    end: int
    after: int


@dataclass(frozen=True, slots=True)
class Environment:
    r"""`\begin{name}` at `start`, its body from `body_start` to `body_end`, the text after it from `end` on."""

    name: str
    start: int
    body_start: int
    body_end: int
    end: int
    closed: bool = True


class Tex:
    """A text with its braces matched. A brace without partner is no group; its argument ends with the line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._partner = _partners(text)

    def unclosed(self, start: int, end: int) -> int | None:
        """Where the first brace between two offsets opens that never closes."""
        braces = (m.start() for m in _BRACE.finditer(self.text, start, end) if m.group() == "{")
        return next((at for at in braces if at not in self._partner), None)

    def space(self, position: int) -> int:
        """Where the next thing after spaces, and after one line end at most, stands."""
        match = _SPACE.match(self.text, position)
        return match.end() if match else position

    def group(self, position: int) -> Group | None:
        """The braced argument that begins at `position`, spaces before it allowed."""
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
        """The bracketed argument that begins at `position`, None where it does not close within the paragraph."""
        start = self.space(position)
        if not self.text.startswith("[", start):
            return None
        at, limit = start + 1, min(len(self.text), start + _LONGEST_OPTION)
        if self.text.find("]", at, limit) < 0:
            return None
        while match := _BRACKET.search(self.text, at, limit):
            found = match.group()
            if found == "]":
                return Group(start + 1, match.start(), match.end())
            if found == "{":
                partner = self._partner.get(match.start())
                if partner is None or partner >= limit:
                    return None
                at = partner + 1
            elif found[0] == "\\":
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
        """As TeX reads one: a group, a control sequence, or a single character."""
        start = self.space(position)
        if group := self.group(start):
            return group
        match = re.compile(r"\\(?:[a-zA-Z@]+|.)|[^\\{}\s]", re.DOTALL).match(self.text, start)
        return Group(start, match.end(), match.end()) if match else None

    def inner(self, group: Group) -> str:
        return self.text[group.start : group.end]


def _partners(text: str) -> dict[int, int]:
    stack: list[int] = []
    partner: dict[int, int] = {}
    for match in _BRACE.finditer(text):
        found = match.group()
        if found == "{":
            stack.append(match.start())
        elif found == "}" and stack:
            partner[stack.pop()] = match.start()
    return partner


def environments(text: str, aliases: Mapping[str, tuple[str, str]] | None = None) -> list[Environment]:
    r"""All environments by start; what is in a verbatim one is not looked at.

    `aliases` maps a macro's name to what it stands for, as `{"be": ("begin", "equation")}`. An `\end` closes the
    innermost open environment of its name and drops those opened since, which are given as unclosed, empty ones."""
    names = "|".join(re.escape(name) for name in aliases or ())
    pattern = re.compile(_BEGIN_END + (rf"|\\({names})(?![a-zA-Z@])" if names else r"|(\Z.)"))
    found: list[Environment] = []
    stack: list[tuple[str, int, int]] = []
    open_count: dict[str, int] = {}
    never_ends: set[str] = set()
    at = 0

    def unclosed(entry: tuple[str, int, int]) -> None:
        open_count[entry[0]] -= 1
        found.append(Environment(entry[0], entry[1], entry[2], entry[2], entry[2], closed=False))

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
                    found.append(Environment(name, match.start(), at, close, close + len(name) + 6))
                    at = close + len(name) + 6
                    continue
            stack.append((name, match.start(), at))
            open_count[name] = open_count.get(name, 0) + 1
        elif open_count.get(name):
            while stack[-1][0] != name:
                unclosed(stack.pop())
            entry = stack.pop()
            open_count[name] -= 1
            found.append(Environment(name, entry[1], entry[2], match.start(), at))
    while stack:
        unclosed(stack.pop())
    return sorted(found, key=lambda e: (e.start, -e.end))
