r"""Pseudocode that is typeset as code (`lstlisting`, `minted`, `verbatim`) or as a table that begins with "Algorithm 1:
…"."""

import re
import textwrap
from collections.abc import Mapping, Sequence

from xkg.build.paper.document import Algorithm
from xkg.build.paper.latex.algorithms import LABEL, caption, steps, unnumbered
from xkg.build.paper.latex.tex.text import latex_text
from xkg.build.paper.latex.tex.tokens import Environment, Tex

_CAPTION_KEY = re.compile(r"(?:^|,)\s*+(?:caption|title)\s*+=\s*+")
_LABEL_KEY = re.compile(r"(?:^|,)\s*+label\s*+=\s*+\{?([^{},\]]{1,200})")
_IS_PSEUDOCODE = re.compile(r"(?i)\b(?:pseudo-?\s?code|algorithm|procedure|listing|implementation|code)\b")
_TABLE_HEAD = re.compile(
    r"\\(?:textbf|bf|bfseries|textsc)(?![a-zA-Z])\s*+\{?\s*+(?:Algorithm|ALGORITHM|Procedure)[ ~]*+[A-Z\d.]{1,5}"
)
_ROW = re.compile(r"\\\\|\\(?:hline|toprule|midrule|bottomrule)(?![a-zA-Z])")
_STEP = re.compile(
    r"^\s*+(?:for|while|if|else|elif|return|def|class|import|from|end|repeat|until|input|output|do)\b|[^=<>!]=[^=]|<-|←|:=|"
    r"^\s*+(?:#|//|%)|\w\([^()]*\)\s*+[;:]?\s*+$"
)
_LONGEST = 100_000


def listing_algorithm(
    text: str, environment: Environment, macros: Mapping[str, tuple[int, str]], defaults: Mapping[str, str]
) -> Algorithm | None:
    """The code in a verbatim environment with its caption; without one, `title` is "" where the lines are steps, and
    None is returned where they are anything else: a prompt, an output, a table."""
    tex = Tex(text[environment.body_start : min(environment.body_end, environment.body_start + 2000)])
    option = tex.option(0)
    keys = tex.inner(option) if option else ""
    found = _CAPTION_KEY.search(keys)
    body = text[environment.body_start + (option.after if option else 0) : environment.body_end]
    if option is None or found is None:
        return (
            Algorithm(start=environment.start, end=environment.end, title="", body=code(body))
            if steps_in(body)
            else None
        )
    group = Tex(keys).group(found.end())
    title = keys[group.start : group.end] if group else keys[found.end() :].partition(",")[0]
    label = _LABEL_KEY.search(keys)
    return Algorithm(
        start=environment.start,
        end=environment.end,
        title=unnumbered(" ".join(latex_text(title, macros, defaults).split())),
        body=code(body),
        label=label[1].strip() if label else None,
    )


def float_listing(
    text: str,
    environment: Environment,
    listings: Sequence[Environment],
    macros: Mapping[str, tuple[int, str]],
    defaults: Mapping[str, str],
) -> Algorithm | None:
    """The pseudocode in a float: code under a caption, or a table headed "Algorithm 1: …"; None where the float holds
    something else."""
    if environment.end - environment.start > _LONGEST:
        return None
    source = text[environment.start : environment.end]
    label = LABEL.search(source)
    inside = [e for e in listings if environment.start < e.start < environment.end]
    if inside:
        title, _ = caption(source, macros, defaults)
        if not title or not (environment.name.startswith(("listing", "algorithm")) or _IS_PSEUDOCODE.search(title)):
            return None
        body = "\n".join(code(text[e.body_start : e.body_end]) for e in inside)
    else:
        head = _TABLE_HEAD.search(source)
        if head is None:
            return None
        row = _ROW.search(source, head.end())
        if row is None:
            return None
        title = latex_text(source[head.start() : row.start()], macros, defaults).replace("\n\n", " ")
        rows = _ROW.sub(r"\\\\", source[row.start() :])
        body = steps(
            re.sub(r"\\(?:begin|end)\s*+\{(?:tabular|table|center)\*?\}(?:\{[^{}]*\})?", "", rows), macros, defaults
        )
    return Algorithm(
        start=environment.start,
        end=environment.end,
        title=unnumbered(title),
        body=body,
        label=label[1].strip() if label else None,
    )


def steps_in(body: str) -> bool:
    """Whether most lines of a listing are program text."""
    lines = [line for line in body.split("\n") if line.strip()]
    return len(lines) >= 3 and sum(bool(_STEP.search(line)) for line in lines) >= 0.6 * len(lines)


def code(body: str) -> str:
    """The lines of a listing without options and common indentation."""
    lines = re.sub(r"\A\s*+\[[^\]\n]{0,500}\]|\A\s*+\{\w{1,20}\}", "", body).strip("\n").split("\n")
    return textwrap.dedent("\n".join(line.rstrip() for line in lines if line.strip()))
