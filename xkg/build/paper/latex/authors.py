"""Finds a paper's authors in its LaTeX source."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile, zip_longest
from typing import NamedTuple

from xkg.build.paper.front_matter import (
    NOBODY,
    FrontRow,
    in_order,
    is_person,
    listed_authors,
    may_be_names,
)
from xkg.build.paper.latex.tex.macros import expand
from xkg.build.paper.latex.tex.text import latex_text
from xkg.build.paper.latex.tex.tokens import Group, Tex

_MARKS = re.compile(
    r"\\(?:inst|textsuperscript|footnotemark|(?i:orcid(?:id|link|icon)?)|aff(?:mark)?|IEEEmembership|[eE]mail|texttt|thanks|inits"
    r"|footnote|vspace|correspondingauthor)\*?"
    r"(?:\[[^\]]{0,400}+\])?\{[^{}]*\}"
    r"|\\[a-zA-Z]{1,30}\*?(?:\[[^\]]{0,400}+\])?\{[^{}@]{0,100}@[^{}]{0,200}\}"
    r"|\\affil\{[\d,*\s]{1,9}\}"
    r"|\\footnotemark(?![a-zA-Z])(?:\[[^\]]{0,20}+\])?"
    r"|\\email\s++[^\s\\{}]++|\\begin\{tabular\}(?:\[\w\])?\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|\\end\{tabular\}"
)
# Matches people's names in scripts without upper case, where institutions have longer names.
_CHINESE = re.compile(r"[぀-ヿ㐀-鿿가-힣]{2,4}|[぀-ヿ㐀-鿿가-힣]{1,3} [぀-ヿ㐀-鿿가-힣]{1,3}")
_SEPARATOR = re.compile(
    r"\\(?:and|And|AND|IEEEauthorblockN|name|Name)(?![a-zA-Z])|\\\\\s*+and\s*+\\\\"  # separates blocks of lines
)
_ADDRESS = re.compile(r"\\(?:addr|IEEEauthorblockA|affil|affiliation|institution|address)(?![a-zA-Z])")

_SIZES = ("Huge", "huge", "LARGE", "Large")
_SIZE = rf"(?:{'|'.join(_SIZES)})(?![a-zA-Z])"
_LARGE = re.compile(rf"(\{{(?:\\(?!{_SIZE})[a-zA-Z]{{1,20}}|\s){{0,10}}+)?\\({_SIZE})")
_LARGEST_PAGE = 10_000
_ROW_END = re.compile(  # the group matches if there is a gap below the row
    r"\\\\(?![*\[])|(\\\\\*?(?:\[[^\]\n]{0,20}\])?|\n[ \t]*+\n|\\(?:par|(?:small|med|big)skip"
    r"|vspace\*?\s*\{[^{}]{0,40}\}|vfill|normalsize|[lL]arge|small|footnotesize|(?:begin|end)\s*\{[a-z]{1,20}\})(?![a-zA-Z]))"
)
_BETWEEN = re.compile(
    r"\\(?:and|And|AND|q?quad|hfill|hspace\*?\s*\{[^{}]{0,40}\})(?![a-zA-Z])|(?<!\\)&|\$(?:\{\})?\^[^$\n]{0,80}\$"
)


def title_page(
    front: str, macros: Mapping[str, tuple[int, str]], defaults: Mapping[str, str]
) -> tuple[str, tuple[str, ...]]:
    r"""Returns the title and authors of a paper without `\title`. The title is the largest text before the abstract."""
    front = _MARKS.sub(" ", expand(front[:_LARGEST_PAGE], macros, defaults))
    large = min(_LARGE.finditer(front), key=lambda match: _SIZES.index(match[2]), default=None)
    if large is None:
        return "", ()
    tex, after = Tex(front), large.end()
    title: list[str] = []
    group: Group | None = None
    while large and large[1] and (group := tex.group(large.start())):
        title += [row.text for row in _rows(front[large.end() : group.end])]
        after = group.after
        # Each line of a title may be a separate group.
        following = _LARGE.search(front, after)
        between = latex_text(front[after : following.start()]) if following else ""
        same = following and following[2] == large[2] and not re.search(r"[^\W\d_]{3}", between)
        large = following if same else None
    rows = list(_rows(front[after:]))
    while rows and not (title and (group or rows[0].apart or any(map(is_person, may_be_names(rows[0].text))))):
        title.append(rows.pop(0).text)
    return " ".join(title), listed_authors(rows)


def _rows(source: str) -> Iterator[FrontRow]:
    parts = _ROW_END.split(source)
    apart = True
    for part, gap in zip_longest(parts[::2], parts[1::2]):
        if text := " ".join(latex_text(_BETWEEN.sub(";", part)).split()):
            yield FrontRow(text, "", apart)
            apart = False
        apart = apart or bool(gap)


def authors_in(
    sources: Iterable[str], macros: Mapping[str, tuple[int, str]], defaults: Mapping[str, str]
) -> tuple[str, ...]:
    r"""Returns the names in the arguments of `\author` and similar commands. Stops at the first part that is not a
    name."""
    names: list[str] = []
    for source in sources:
        body = _MARKS.sub(" ", expand(source[:20_000], macros, defaults))
        blocks = [_names(_ADDRESS.split(chunk, 1)[0]) for chunk in _SEPARATOR.split(body)]
        # All blocks have the same format. If the second line of one block is an address, the second line of every block
        # is an address.
        have_addresses = len(blocks) > 1 and any(block.has_address for block in blocks)
        for block in blocks:
            names += block.first if have_addresses and block.first else block.names
    return tuple(name for name in dict.fromkeys(names) if not NOBODY.fullmatch(name))


class _Block(NamedTuple):
    """A block of lines with authors. Contains all names, those on the first line, and whether the second line starts
    with something else."""

    names: list[str]
    first: list[str]
    has_address: bool


_LINE_END = re.compile(r"\\\\|\n\s*\n|\\newline")
_GAP = re.compile(r"\\q?quad|\\hfill|\\hspace\*?\s*\{[^{}]*\}")


def _names(chunk: str) -> _Block:
    names: list[str] = []
    first: list[str] = []
    for line in _LINE_END.split(chunk):
        for part in _GAP.split(line):
            text = latex_text(re.sub(r"\$[^$]{0,200}\$|(?<!\\)&", ",", part))
            pieces = (not names and in_order(" ".join(text.split()))) or may_be_names(text)
            persons = list(takewhile(is_person, pieces)) or [
                each for each in pieces if not names and _CHINESE.fullmatch(each)
            ]
            if len(persons) < len(pieces):
                columns = re.search(r"(?<!\\)&", part) is not None  # a part of an address may look like a name
                return _Block(
                    names if columns else names + persons, first, bool(first) and names == first and not persons
                )
            names += persons
        first = first or list(names)
    return _Block(names, first, False)
