"""Lines of a repository's files: those found by a search, and those missing from code that is shown in part."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Set

from xkg.build.code.codebase import Codebase
from xkg.build.grounding.index.symbol_index import strip_comments
from xkg.model import LineRange, Symbol
from xkg.value import Value

# Missing lines this close together are returned as one text, with the lines between them and one line before.
_BETWEEN = 3
_MOST_TOGETHER = 40
_MOST_LINES = 4_000
_LONGEST = 1_800
_SEEN = 0.7
_DOCSTRING = re.compile(r"^([ \t]*+)[rRuU]?+(\"\"\"|''')((?:(?!\2)[^\n])*+\n(?s:(?!\2).)*+)\2", re.MULTILINE)
_HEAD = re.compile(r"\A(?:[ \t]*+(?:#[^\n]*+)?\n){4,}+")
_COMMENT = re.compile(r"\s*+(?:#|//)")
_WORD = re.compile(r"\w")


class FoundLines(Value):
    """Lines of a file (for a notebook: of all its code cells together), their innermost symbol, and their dedented
    text. `left_out`: they belong to code that was shown without them."""

    symbol: str
    path: str
    first: int
    last: int
    text: str
    left_out: bool = False

    @property
    def place(self) -> str:
        return f"{self.path}:{self.first}-{self.last}"


class Shown(Value):
    """The shown part of a repository: the `text`, the symbols (ids) that it may show only in part, most important
    first, and by path the lines that it certainly omits, even if they equal other lines in it."""

    text: str
    symbols: tuple[str, ...] = ()
    gaps: Mapping[str, tuple[LineRange, ...]] = {}


def lines_not_shown(codebase: Codebase, shown: Shown) -> list[FoundLines]:
    """The lines of the symbols that are not in the text, in the order of symbols and lines, without docstrings. Raises
    `UnknownIdError` like `Codebase`."""
    seen = {without_blanks(line) for line in shown.text.split("\n")}
    found: list[FoundLines] = []
    taken: set[tuple[str, int]] = set()
    for identity in dict.fromkeys(shown.symbols):
        symbol = codebase.symbols()[identity].symbol
        text = _DOCSTRING.sub(lambda match: "\n" * match[0].count("\n"), codebase.source(symbol))
        lines = text.split("\n")[:_MOST_LINES]
        gaps = {n for at in shown.gaps.get(symbol.path, ()) for n in range(at.start_line, at.end_line + 1)}
        missing = [
            number
            for number, line in enumerate(lines, symbol.start_line)
            if _WORD.search(line)
            and not _COMMENT.match(line)
            and (number in gaps or without_blanks(line) not in seen)
            and (symbol.path, number) not in taken
        ]
        taken |= {(symbol.path, number) for number in missing}
        found += _together(missing, lines, symbol)
    return found


def _together(missing: list[int], lines: list[str], symbol: Symbol) -> Iterator[FoundLines]:
    """Groups lines that are close to each other, with one text per group."""
    runs: list[tuple[int, int]] = []
    for number in missing:
        if runs and number - runs[-1][1] <= _BETWEEN + 1 and number - runs[-1][0] < _MOST_TOGETHER:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    for first, last in runs:
        start = max(symbol.start_line, first - 1)
        text = "\n".join(lines[start - symbol.start_line : last - symbol.start_line + 1])
        text = textwrap.dedent(re.sub(r"\n{2,}", "\n", text)).strip("\n")
        yield FoundLines(symbol=symbol.id, path=symbol.path, first=start, last=last, text=text, left_out=True)


def shortened(text: str) -> str:
    """The dedented lines with only the first words of each docstring, and without a long comment at the beginning."""

    def first_words(docstring: re.Match[str]) -> str:
        words = next((line.strip() for line in docstring[3].split("\n") if line.strip()), "")
        return f"{docstring[1]}{docstring[2]}{words}{docstring[2]}"

    brief = _DOCSTRING.sub(first_words, _HEAD.sub("", text, count=1))
    return textwrap.dedent(re.sub(r"\n{2,}", "\n", brief)).strip("\n")[:_LONGEST]


def is_known(text: str, seen: Set[str]) -> bool:
    """Whether most lines of a text are in `seen` (lines without whitespace)."""
    written = [without_blanks(line) for line in strip_comments(text).split("\n") if line.strip()]
    return sum(line in seen for line in written) >= _SEEN * len(written)


def without_blanks(line: str) -> str:
    return "".join(line.split())
