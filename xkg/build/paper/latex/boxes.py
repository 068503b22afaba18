r"""Algorithms in boxes: environments of `tcolorbox`, `mdframed` or `framed`, or those that the paper derives from them.
The box has a title "Algorithm 1: …", or contains only one algorithm."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from xkg.build.paper.latex.algorithms import unnumbered
from xkg.build.paper.latex.tex.text import latex_text
from xkg.build.paper.latex.tex.tokens import Environment, Tex

_KINDS = ("tcolorbox", "mdframed", "framed", "shaded")
_TITLE_KEY = re.compile(r"(?:^|,)\s*+(?:frame)?title\s*+=\s*+")
_DEFINED = re.compile(
    r"\\(?:(?P<box>(?:re)?newtcolorbox)|(?P<document>(?:Declare|New|Renew|Provide)TColorBox)"
    r"|(?P<theorem>(?:re)?newtcbtheorem)|(?P<frame>(?:re)?newmdenv)|(?P<environment>(?:re)?newenvironment\*?))(?=\s*+[\[{])"
)
_COUNT = re.compile(r"\s*+\[(\d)\]")
_ARGUMENT = re.compile(r"[mrRvb]|[oOdDsteE](?:\{[^{}]{0,40}\})?")
_OPENS = re.compile(rf"\\begin\s*+\{{(?:{'|'.join(_KINDS)})\}}")
_PARAMETER = re.compile(r"#(\d)")
_IS_ALGORITHM = re.compile(
    r"(?i)\W*(?:algorithm|procedure|pseudo-?\s?code)(?:\s*+\d[\d.]*+(?![\w%])|\s++[a-z](?!\w))?+(?:\s*+(?:[.:(|—–-]|$)|(?<=[\d.])\s)"
)
_HEAD = re.compile(r"\s*+(?:\\(?:noindent|centering|small|par)(?![a-zA-Z])\s*+)*+\\textbf(?![a-zA-Z])(?=\s*+\{)")
_HEAD_ENDS = re.compile(r"\\\\|\n[ \t]*+\n|\\(?:begin|item|hrule|par|vspace|medskip|smallskip|hline)(?![a-zA-Z])")
_LONGEST_TITLE = 300


@dataclass(frozen=True, slots=True)
class Box:
    """The arguments of a box environment, one letter each ("o" in brackets, "m" in braces), and its title as LaTeX with
    `#1` …; the title is "" if only the options give it."""

    arguments: str = "o"
    title: str = ""


def boxes_in(text: str) -> dict[str, Box]:
    """The box environments by name: standard ones, and those that the paper defines."""
    found = dict.fromkeys(_KINDS, Box())
    if _DEFINED.search(text) is None:
        return found
    tex = Tex(text)
    for match in _DEFINED.finditer(text):
        at = tex.skip_options(match.end())
        name = tex.group(at)
        if name is None:
            continue
        at = name.after
        arguments = ""
        if match["document"] and (given := tex.group(at)):
            arguments, at = "".join(m[0][0] for m in _ARGUMENT.finditer(tex.inner(given))), given.after
        elif not match["document"] and (count := _COUNT.match(text, at)):
            arguments, at = "m" * min(9, int(count[1])), count.end()
            if (default := tex.option(at)) is not None:
                arguments, at = "o" + arguments[1:], default.after
        if match["theorem"] and (display := tex.group(at)):
            found[tex.inner(name)] = Box("omm", f"{tex.inner(display)}: #2")
        elif match["frame"]:
            options = tex.option(match.end())
            found[tex.inner(name)] = Box("o", _title(tex.inner(options)) if options else "")
        elif (settings := tex.group(at)) is not None:
            inner = tex.inner(settings)
            if match["environment"]:
                opened = _OPENS.search(inner)
                options = Tex(inner).option(opened.end()) if opened else None
                if opened is None:
                    continue
                inner = inner[options.start : options.end] if options else ""
            found[tex.inner(name)] = Box(arguments, _title(inner))
    return found


def boxed_algorithm(
    text: str, tex: Tex, environment: Environment, box: Box, macros: Mapping[str, tuple[int, str]]
) -> tuple[str, int] | None:
    """The title of the algorithm in a box, and the offset of its first step. None if the box has a different kind of
    title."""
    given: list[str] = []
    at = environment.body_start
    options = ""
    for kind in box.arguments:
        group = tex.group(at) if kind in "mrRvb" else tex.option(at)
        given.append(tex.inner(group) if group else "")
        options += f",{tex.inner(group)}" if group and kind not in "mrRvb" else ""
        at = group.after if group else at
    title = _title(options) or _PARAMETER.sub(
        lambda m: given[int(m[1]) - 1] if 0 < int(m[1]) <= len(given) else "", box.title
    )
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
    group = Tex(options).group(found.end())
    return options[group.start : group.end] if group else options[found.end() :].partition(",")[0]
