"""Pseudocode that is formatted as code in a float."""

import re
import textwrap
from collections.abc import Mapping, Sequence

from xkg.build.paper.document import Algorithm
from xkg.build.paper.latex.algorithms import LABEL, caption, unnumbered
from xkg.build.paper.latex.tex.tokens import Environment

_IS_PSEUDOCODE = re.compile(r"(?i)\b(?:pseudo-?\s?code|algorithm|procedure|listing|implementation|code)\b")
_OPTIONS = re.compile(r"\A[ \t]*+(?:\[(?:[^\]{}]|\{[^{}]{0,500}\}){0,2000}\])?[ \t]*+(?:\{\w{1,20}\})?")
_LONGEST = 100_000


def float_listing(
    text: str,
    environment: Environment,
    listings: Sequence[Environment],
    macros: Mapping[str, tuple[int, str]],
    defaults: Mapping[str, str],
) -> Algorithm | None:
    """The code in a float with a caption; None if the float contains anything else."""
    if environment.end - environment.start > _LONGEST:
        return None
    source = text[environment.start : environment.end]
    label = LABEL.search(source)
    inside = [e for e in listings if environment.start < e.start < environment.end]
    title, _ = caption(source, macros, defaults) if inside else ("", "")
    if not title or not (environment.name.startswith(("listing", "algorithm")) or _IS_PSEUDOCODE.search(title)):
        return None
    body = "\n".join(code(text[e.body_start : e.body_end]) for e in inside)
    return Algorithm(
        start=environment.start,
        end=environment.end,
        title=unnumbered(title),
        body=body,
        label=label[1].strip() if label else None,
    )


def code(body: str) -> str:
    """The lines of a listing without options and common indentation."""
    lines = _OPTIONS.sub("", body).strip("\n").split("\n")
    return textwrap.dedent("\n".join(line.rstrip() for line in lines if line.strip()))
