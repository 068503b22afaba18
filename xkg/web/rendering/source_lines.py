"""Renders source code as highlighted lines."""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from xkg.web.rendering.long_texts import cut

LARGEST = 60_000
LONGEST_LINE = 500
"""Limits for syntax highlighting, because lexers use regular expressions, which can be slow on untrusted text."""
MOST_SHOWN = 200_000
"""Maximum number of characters to show."""
BLANK_LINES = 12
"""Number of consecutive blank lines at which to split code, because lexers take quadratic time for blank lines."""


class Line(NamedTuple):
    """A line of code, with its number in the file and notes to show below it. `marks` are `focus`, `covered`,
    `uncovered`, `survivor`, `added`, `removed` or `head`."""

    number: int | None
    html: Markup
    marks: str = ""
    notes: tuple[str, ...] = ()


def lines(
    text: str,
    language: str,
    first: int = 1,
    marks: Mapping[int, str] | None = None,
    notes: Mapping[int, Sequence[str]] | None = None,
) -> list[Line]:
    """Returns a text as numbered lines, starting at line `first`. Marks and notes are keyed by line number."""
    found = []
    for number, html in enumerate(highlighted(text, language), start=first):
        found.append(Line(number, html, (marks or {}).get(number, ""), tuple((notes or {}).get(number, ()))))
    return found


@functools.lru_cache(256)
def highlighted(text: str, language: str) -> tuple[Markup, ...]:
    """Returns each line as HTML with Pygments' CSS classes."""
    text = cut(text, MOST_SHOWN)
    plain = text.rstrip("\n").split("\n")
    if len(text) > LARGEST or max(map(len, plain)) > LONGEST_LINE:
        return tuple(map(escape, plain))
    found: list[Markup] = []
    for piece in _pieces(plain):
        found += _coloured(piece, language) if any(piece) else map(escape, piece)
    return tuple(found)


def _pieces(plain: Sequence[str]) -> Iterator[list[str]]:
    """Yields groups of lines without trailing whitespace, split at long runs of blank lines."""
    piece: list[str] = []
    for blank, group in itertools.groupby((line.rstrip() for line in plain), key=lambda line: not line):
        run = list(group)
        if blank and len(run) >= BLANK_LINES:
            yield piece
            yield run
            piece = []
        else:
            piece += run
    yield piece


def _coloured(plain: Sequence[str], language: str) -> Sequence[Markup]:
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return list(map(escape, plain))
    html = highlight("\n".join(plain), lexer, HtmlFormatter(nowrap=True)).removesuffix("\n").split("\n")
    # A lexer may convert other characters to newlines.
    return list(map(Markup, html)) if len(html) == len(plain) else list(map(escape, plain))
