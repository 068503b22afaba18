"""The authors in a LaTeX source."""

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile

from xkg.build.paper.front_matter import NOBODY, TEMPLATE_AUTHOR, in_order, is_person, may_be_names
from xkg.build.paper.latex.tex.macros import expand
from xkg.build.paper.latex.tex.text import latex_text

_MARKS = re.compile(
    r"\\(?:inst|textsuperscript|footnotemark|(?i:orcid(?:id|link|icon)?)|affmark|IEEEmembership|[eE]mail|texttt|thanks"
    r"|footnote|vspace)\*?"
    r"(?:\[[^\]]{0,400}+\])?\{[^{}]*\}"
    r"|\\footnotemark(?![a-zA-Z])(?:\[[^\]]{0,20}+\])?"
    r"|\\email\s++[^\s\\{}]++|\\begin\{tabular\}(?:\[\w\])?\{(?:[^{}]|\{[^{}]*\})*\}|\\end\{tabular\}"
)
# Names without upper case. Institutions are longer.
_CHINESE = re.compile(r"[぀-ヿ㐀-鿿가-힣]{2,4}|[぀-ヿ㐀-鿿가-힣]{1,3} [぀-ヿ㐀-鿿가-힣]{1,3}")
_ADDRESS = re.compile(r"\\(?:addr|IEEEauthorblockA|affil|affiliation|institution|address)(?![a-zA-Z])")


def authors_in(
    sources: Iterable[str], macros: Mapping[str, tuple[int, str]], defaults: Mapping[str, str]
) -> tuple[str, ...]:
    r"""The names in the arguments of `\author` and similar commands, up to the first part that is not a name."""
    names: list[str] = []
    for source in sources:
        body = _MARKS.sub(" ", expand(source[:20_000], macros, defaults))
        for chunk in re.split(r"\\(?:and|And|AND|IEEEauthorblockN|name|Name)(?![a-zA-Z])", body):
            names += _names(_ADDRESS.split(chunk, 1)[0])
    if any(TEMPLATE_AUTHOR in name for name in names):
        return ()
    return tuple(name for name in dict.fromkeys(names) if not NOBODY.fullmatch(name))


def _names(chunk: str) -> list[str]:
    names: list[str] = []
    for line in re.split(r"\\\\|\\quad|\\qquad|\\hfill|\\hspace\*?\s*\{[^{}]*\}|\n\s*\n|\\newline", chunk):
        text = latex_text(re.sub(r"\$[^$]{0,200}\$|(?<!\\)&", ",", line))
        pieces = (not names and in_order(" ".join(text.split()))) or may_be_names(text)
        persons = list(takewhile(is_person, pieces)) or [
            each for each in pieces if not names and _CHINESE.fullmatch(each)
        ]
        if len(persons) < len(pieces):
            columns = re.search(r"(?<!\\)&", line) is not None  # one column may look like a name
            return names if columns else names + persons
        names += persons
    return names
