"""Lines of a repository's files: those that are found, and those that are missing where code is shown in part."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Set

from xkg.build.code.codebase import Codebase
from xkg.build.grounding.index.symbol_index import strip_comments
from xkg.model import LineRange, Symbol
from xkg.value import Value

# Lines that were not shown are given with what stands between them, up to this many lines, and with one line before.
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
    """Lines of a file (of a notebook: of its code cells together), the innermost symbol that holds them, and their text
    without a common margin. `left_out`: they belong to code that was shown without them."""

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
    """What was shown of a repository: the `text`, the symbols (ids) that it shows in part at most, first the most
    important, and by path the lines that it leaves out for certain, though they may be like others that it has."""

    text: str
    symbols: tuple[str, ...] = ()
    gaps: Mapping[str, tuple[LineRange, ...]] = {}


def lines_not_shown(codebase: Codebase, shown: Shown) -> list[FoundLines]:
    """The lines of the symbols that are not in the text, in the order of symbols and lines, docstrings aside. Raises
    `UnknownIdError` as `Codebase` does."""
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
    """Lines that are near each other, as one text each."""
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
    """Lines with the first words of each docstring alone, without a long comment at their head and a common margin."""

    def first_words(docstring: re.Match[str]) -> str:
        words = next((line.strip() for line in docstring[3].split("\n") if line.strip()), "")
        return f"{docstring[1]}{docstring[2]}{words}{docstring[2]}"

    brief = _DOCSTRING.sub(first_words, _HEAD.sub("", text, count=1))
    return textwrap.dedent(re.sub(r"\n{2,}", "\n", brief)).strip("\n")[:_LONGEST]


def is_known(text: str, seen: Set[str]) -> bool:
    """Whether most lines of a text are among those seen (without blanks)."""
    written = [without_blanks(line) for line in strip_comments(text).split("\n") if line.strip()]
    return sum(line in seen for line in written) >= _SEEN * len(written)


def without_blanks(line: str) -> str:
    return "".join(line.split())
