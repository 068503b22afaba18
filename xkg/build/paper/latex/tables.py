"""Converts tables to readable text, with one row per line and bars between cells."""

import re
from collections.abc import Callable

from xkg.build.paper.latex.tex.commands import TABULARS
from xkg.build.paper.latex.tex.tokens import Tex, environments

_BORDER = re.compile(
    r"\\(?:hline|hdashline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|endlastfoot|addlinespace|morecmidrules)"
    r"(?![a-zA-Z])(?:\[[^\[\]]{0,40}\])?"
    r"|\\(?:cmidrule|cdashline|cline)(?![a-zA-Z])(?:\[[^\[\]]{0,40}\])?(?:\([^()]{0,40}\))?(?:\[[^\[\]]{0,40}\])?"
    r"\s{0,4}\{[^{}]{0,40}\}(?:\[[^\[\]]{0,40}\])?"
    r"|\\specialrule(?:\s{0,4}\{[^{}]{0,40}\}){3}|\\Xhline\s{0,4}\{[^{}]{0,60}\}|\\Xcline\s{0,4}(?:\{[^{}]{0,60}\}){2}"
)
_PIECE = re.compile(
    r"(?P<math>\$(?:[^$\\]|\\.){1,2000}+\$)"
    r"|(?P<row>\\\\\*?(?:[ \t]{0,9}\[[^\[\]\n]{0,40}\])?|\\(?:tabularnewline|cr)(?![a-zA-Z]))"
    r"|\\(?P<border>begin|end)(?=\s{0,4}\{)|\\.|(?P<brace>[{}])|(?P<cell>&)",
    re.DOTALL,
)
_CELLS = re.compile(r"\\(?:makecell|thead|shortstack|specialcell|newlinecell)\*?(?![a-zA-Z])")


def rows(source: str, name: str, render: Callable[[str], str]) -> str:
    r"""Returns the rows in the body of the environment `name`. `source` is the text between `\begin{name}` and
    `\end{name}`. Omits rules, empty rows and trailing empty cells."""
    tex = Tex(source)
    at = tex.skip_options(0)
    for _ in range(TABULARS.get(name, 1)):
        group = tex.group(at)
        at = tex.skip_options(group.after) if group is not None else at
    source = _BORDER.sub(" ", source[at:])
    out = []
    for row in _split(source):
        cells = [" ".join(render(_flat(cell)).split()) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if any(re.search(r"\w|[✓✗]", cell) for cell in cells):
            out.append(" | ".join(cells))
    return "\n".join(out)


def _split(source: str) -> list[list[str]]:
    rows: list[list[str]] = [[]]
    depth, at = 0, 0
    for match in _PIECE.finditer(source):
        if match["border"]:
            depth += 1 if match["border"] == "begin" else -1
        elif match["brace"]:
            depth += 1 if match["brace"] == "{" else -1
        elif depth <= 0 and (match["row"] or match["cell"]):
            rows[-1].append(source[at : match.start()])
            at = match.end()
            if match["row"]:
                rows.append([])
    rows[-1].append(source[at:])
    return rows


def _flat(cell: str) -> str:
    """Removes separators inside a cell, such as the line breaks in a `makecell` or a nested table."""
    if "\\begin" in cell:
        inner = [e for e in environments(cell) if e.name in TABULARS and e.closed]
        for environment in reversed(inner):
            body = cell[environment.body_start : environment.body_end]
            tex = Tex(body)
            at = tex.skip_options(0)
            for _ in range(TABULARS[environment.name]):
                group = tex.group(at)
                at = group.after if group is not None else at
            flat = _BORDER.sub(" ", re.sub(r"\\\\(?:\[[^\[\]\n]{0,40}\])?|(?<!\\)&", " ", body[at:]))
            cell = f"{cell[: environment.start]} {flat} {cell[environment.end :]}"
    return _CELLS.sub(" ", cell)
