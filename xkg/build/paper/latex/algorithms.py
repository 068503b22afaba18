"""Pseudocode as readable steps, one per line, from the LaTeX packages for it."""

import re
from collections.abc import Mapping

from xkg.build.paper.document import Algorithm
from xkg.build.paper.latex.text import latex_text
from xkg.build.paper.latex.tokens import Tex

LABEL = re.compile(r"\\label\s*\{([^{}]{1,200})\}")
_NUMBERED = re.compile(r"(?i)^(?:algorithm|procedure|listing|alg\.)\s*[\dA-Z]{0,3}(?:\.\d+)?\s*[.:—–-]*\s+")
_WORDS = {
    "state": "", "statex": "", "item": "", "require": "Require:", "ensure": "Ensure:",
    "input": "Input:", "output": "Output:", "kwin": "Input:", "kwout": "Output:", "kwdata": "Data:",
    "kwresult": "Result:", "kwinput": "Input:", "kwoutput": "Output:", "return": "return", "kwret": "return",
    "for": "for", "forall": "for all",
    "foreach": "for each", "forpar": "for", "while": "while", "if": "if", "eif": "if", "uif": "if", "elsif": "else if",
    "elseif": "else if", "uelseif": "else if", "else": "else", "uelse": "else", "repeat": "repeat", "until": "until",
    "loop": "loop", "procedure": "procedure", "function": "function", "print": "print", "endfor": "end for",
    "endwhile": "end while", "endif": "end if", "endloop": "end loop", "endprocedure": "end procedure",
    "endfunction": "end function", "begin": "", "initialize": "Initialize:", "initialise": "Initialise:",
}  # fmt: skip
_COMMENTS = frozenset(("comment", "tcp", "tcc", "tcp*", "tcc*", "leftcomment", "rcomment"))
_SETTING = re.compile(r"\\(?:Set[A-Z]|ResetInOut|algrenewcommand)\w*")
_COMMAND = re.compile(r"\\([a-zA-Z]+\*?)|\\\\|\\;|([{}])[ \t]*+\n")
_PLAIN_WORD = frozenset(["input", "begin", "item", "repeat", "loop", "print"])


def latex_algorithm(
    source: str, start: int, end: int, macros: Mapping[str, tuple[int, str]], defaults: Mapping[str, str]
) -> Algorithm:
    r"""The algorithm in `source`, which is `start` to `end` of the paper and begins with `\begin`."""
    tex = Tex(source)
    label = LABEL.search(source)
    title, cut = caption(source, macros, defaults)
    for match in re.finditer(r"\\(?:begin|end)\s*\{([^{}]{1,60})\}", source):
        after = match.end()
        if match[1] not in ("algorithm", "algorithm*", "algorithmic", "algorithm2e") and "math" not in match[1]:
            if match[1].rstrip("*") in ("figure", "minipage", "center", "small"):
                cut.append((match.start(), tex.skip_options(after)))
            continue
        cut.append((match.start(), tex.skip_options(after)))
    for match in _SETTING.finditer(source):
        after = match.end()
        while group := tex.group(after):
            after = group.after
        cut.append((match.start(), after))
    body, at = [], 0
    for left, right in sorted(cut):
        body.append(source[at:left] if left > at else "")
        at = max(at, right)
    body.append(source[at:])
    return Algorithm(
        start=start,
        end=end,
        title=unnumbered(title),
        body=steps("".join(body), macros, defaults),
        label=label[1].strip() if label else None,
    )


def caption(
    source: str, macros: Mapping[str, tuple[int, str]], defaults: Mapping[str, str]
) -> tuple[str, list[tuple[int, int]]]:
    """The first caption in `source` as readable text, "" where there is none, and the spans of all captions."""
    tex = Tex(source)
    title = ""
    spans: list[tuple[int, int]] = []
    for match in re.finditer(r"\\(?:caption|captionof|TitleOfAlgo)\*?(?![a-zA-Z])", source):
        at = tex.skip_options(match.end())
        group = tex.group(at)
        if group is not None and match.group().endswith("captionof"):
            group = tex.group(group.after)
        if group is not None:
            title = title or latex_text(tex.inner(group), macros, defaults).replace("\n\n", " ")
            spans.append((match.start(), group.after))
    return title, spans


def unnumbered(title: str) -> str:
    """A caption without "Algorithm 1:"."""
    return _NUMBERED.sub("", title).strip()


def steps(source: str, macros: Mapping[str, tuple[int, str]], defaults: Mapping[str, str]) -> str:
    """The steps as readable lines."""
    own = {name: value for name, value in macros.items() if name.lower() not in _WORDS}

    def line(match: re.Match[str]) -> str:
        if match[2]:
            return match[2] + "\n\n"
        word = match[1]
        if word is None:
            return "\n\n"
        known = word.lower()
        if known in _COMMENTS:
            return " # "
        if known not in _WORDS or (known in _PLAIN_WORD and word == known and known != "item"):
            return match.group()
        return f"\n\n{_WORDS[known]} "

    text = latex_text(_COMMAND.sub(line, source), own, defaults, keep_algorithms=True)
    return "\n".join(part.strip() for part in text.split("\n\n") if re.search(r"\w", part))
