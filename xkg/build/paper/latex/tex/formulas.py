"""Converts formulas to standalone LaTeX without layout."""

import re

from xkg.build.paper.latex.tex.commands import ALIGNED, ENVIRONMENT_ARGUMENTS, GATHERED
from xkg.build.paper.latex.tex.tokens import Tex

# Matches layout commands in formulas, but line breaks first, so `\\\\!` stays a line break.
_MATH_NOISE = re.compile(
    r"(\\\\)|\\(?:label|tag|[vh]space)\*?\s*+\{[^{}]*+\}"
    r"|(?P<phantom>\\[vh]?phantom)(?![a-zA-Z])\s*+(?:\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}|\\[a-zA-Z]++|[^\s\\{}])(?P<script>\s*+[\^_])?"
    r"|\\(?:[vh]skip|m?kern|mskip)\s*+=?\s*+-?\d{0,5}\.?\d{0,5}\s*+(?:[a-z]{2}|\\[a-z]++)"
    r"|\\(?:nonumber|notag|displaystyle|textstyle|limits|ensuremath|xspace|allowdisplaybreaks|tiny|scriptsize"
    r"|footnotesize|small|normalsize|large|Large|centering|noindent|phantomsection)(?![a-zA-Z])|\\!"
)
_ROWS = re.compile(r"\\\\|(?<!\\)&")
_DOLLAR = re.compile(r"\\.|\$", re.DOTALL)


def _without_noise(match: re.Match[str]) -> str:
    return match[1] or ("{}" + match["script"] if match["script"] else " ")


def math(body: str, environment: str = "") -> str:
    r"""Returns a formula's TeX on one line, without labels and layout, in a form that is valid outside `environment`.
    For example, the rows of an `align` are wrapped in `aligned`, and `$x$` inside text becomes `\(x\)`."""
    formula = " ".join(_MATH_NOISE.sub(_without_noise, body).split())
    if environment in ENVIRONMENT_ARGUMENTS:
        tex = Tex(formula)
        group = tex.group(0)
        formula = formula[group.after :].lstrip() if group else formula
    if "$" in formula:
        sides = iter(range(10**6))
        formula = _DOLLAR.sub(lambda m: m[0] if m[0] != "$" else ("\\(", "\\)")[next(sides) % 2], formula)
    inner = "aligned" if environment in ALIGNED else "gathered" if environment in GATHERED else ""
    if inner and formula.endswith("\\\\"):
        formula = formula[:-2].rstrip()
    return f"\\begin{{{inner}}} {formula} \\end{{{inner}}}" if inner and _ROWS.search(formula) else formula
