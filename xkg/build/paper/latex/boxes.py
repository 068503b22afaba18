"""Finds algorithms in boxes. A box is an environment from `tcolorbox`, `mdframed` or `framed`, or one that the paper
derives from these packages. A box contains an algorithm if its title resembles "Algorithm 1: …", or if it has a title
and an `algorithmic` environment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from xkg.build.paper.latex.algorithms import unnumbered
from xkg.build.paper.latex.tex.macros import arguments_end
from xkg.build.paper.latex.tex.text import latex_text
from xkg.build.paper.latex.tex.tokens import Environment, Tex

_KINDS = ("tcolorbox", "mdframed", "framed", "shaded")
_TITLE_KEY = re.compile(r"(?:^|[,\[{])\s*+(?:frame)?title\s*+=\s*+((?:[^,{}\]]|\{[^{}]*+\})*+)")
_DEFINED = re.compile(
    r"\\(?:(?:re)?newtcolorbox|(?:Declare|New|Renew|Provide)TColorBox|(?P<theorem>(?:re)?newtcbtheorem)"
    r"|(?:re)?newmdenv|(?P<environment>(?:re)?newenvironment\*?))(?=\s*+[\[{])"
)
_OPENS = re.compile(rf"\\begin\s*+\{{(?:{'|'.join(_KINDS)})\}}")
_PARAMETER = re.compile(r"#\d")
_IS_ALGORITHM = re.compile(
    r"(?i)\W*(?:algorithm|procedure|pseudo-?\s?code)(?:\s*+\d[\d.]*+(?![\w%])|\s++[a-z](?!\w))?+(?:\s*+(?:[.:(|—–-]|$)|(?<=[\d.])\s)"
)
_HEAD = re.compile(r"\s*+(?:\\(?:noindent|centering|small|par)(?![a-zA-Z])\s*+)*+\\textbf(?![a-zA-Z])(?=\s*+\{)")
_HEAD_ENDS = re.compile(r"\\\\|\n[ \t]*+\n|\\(?:begin|item|hrule|par|vspace|medskip|smallskip|hline)(?![a-zA-Z])")
_LONGEST_TITLE = 300


@dataclass(frozen=True, slots=True)
class Box:
    """A box environment. `arguments` is the number of its braced arguments. `title` is LaTeX that may contain
    parameters such as `#1`, and is "" if only the options specify a title."""

    arguments: int = 0
    title: str = ""


def boxes_in(text: str) -> dict[str, Box]:
    """Returns the standard box environments and those defined by the paper, keyed by name."""
    found = dict.fromkeys(_KINDS, Box())
    if _DEFINED.search(text) is None:
        return found
    tex = Tex(text)
    for match in _DEFINED.finditer(text):
        name = tex.group(tex.skip_options(match.end()))
        definition = text[match.end() : arguments_end(tex, match.end())]
        if name is None or (match["environment"] and not _OPENS.search(definition)):
            continue
        title = _title(definition)
        if match["theorem"] and (display := tex.group(tex.skip_options(name.after))):
            title = f"{tex.inner(display)}: #1"
        found[tex.inner(name)] = Box(2 if match["theorem"] else len(set(_PARAMETER.findall(title))), title)
    return found


def boxed_algorithm(
    text: str, tex: Tex, environment: Environment, box: Box, macros: Mapping[str, tuple[int, str]]
) -> tuple[str, int] | None:
    """Returns the title of the algorithm in a box and the offset of its first step, or None if there is no
    algorithm."""
    option = tex.option(environment.body_start)
    at = tex.skip_options(environment.body_start)
    given: list[str] = []
    while len(given) < box.arguments and (group := tex.group(at)):
        given.append(tex.inner(group))
        at = group.after
    arguments = iter(given)
    title = (_title(tex.inner(option)) if option else "") or _PARAMETER.sub(lambda _: next(arguments, ""), box.title)
    if not title and (head := _HEAD.match(text, at, environment.body_end)):
        ends = _HEAD_ENDS.search(text, head.end(), min(environment.body_end, head.end() + _LONGEST_TITLE))
        group = tex.group(head.end())
        stop = ends.start() if ends else group.after if group else head.end()
        title, after = text[head.start() : stop], stop
    else:
        after = at
    printed = " ".join(latex_text(title[:_LONGEST_TITLE], macros).split())
    if not _IS_ALGORITHM.match(printed):
        return (printed, at) if printed and "\\begin{algorithmic}" in text[at : environment.body_end] else None
    name = unnumbered(f"{printed} ").strip(" .")
    name = "" if _IS_ALGORITHM.fullmatch(name) else name
    return name[1:-1] if re.fullmatch(r"\([^()]*\)", name) else name, after


def _title(options: str) -> str:
    found = _TITLE_KEY.search(options)
    if found is None:
        return ""
    group = Tex(options).group(found.start(1))
    return options[group.start : group.end] if group else found[1]
