"""Source code as highlighted lines."""

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

LARGEST = 200_000
LONGEST_LINE = 1_000
"""Beyond these, characters are shown without colours: lexers are regular expressions over untrusted text."""


class Line(NamedTuple):
    """A line of code: its number in its file, its HTML, what marks it (`focus`, `covered`, `uncovered`, `survivor`,
    `added`, `removed`, `gap`) and the notes under it."""

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
    """The lines of a text whose first is number `first`; marks and notes are by number."""
    found = []
    for number, html in enumerate(highlighted(text, language), start=first):
        found.append(Line(number, html, (marks or {}).get(number, ""), tuple((notes or {}).get(number, ()))))
    return found


@functools.lru_cache(256)
def highlighted(text: str, language: str) -> tuple[Markup, ...]:
    """Each line as HTML, classes as Pygments has them."""
    plain = text.rstrip("\n").split("\n")
    if len(text) > LARGEST or max(map(len, plain)) > LONGEST_LINE:
        return tuple(map(escape, plain))
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return tuple(map(escape, plain))
    html = highlight("\n".join(plain), lexer, HtmlFormatter(nowrap=True)).removesuffix("\n").split("\n")
    # A lexer may turn other characters than "\n" into line ends.
    return tuple(map(Markup, html)) if len(html) == len(plain) else tuple(map(escape, plain))
