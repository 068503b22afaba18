"""A definition as numbered statements, each of which a module does, or is said not to do."""

import re

_FORMULA = (
    r"\$\$[^$]{0,4000}+\$\$|\$[^$]{0,4000}+\$|\\\((?:(?!\\[()]).){0,4000}+\\\)|\\\[(?:(?!\\[\[\]]).){0,4000}+\\\]"
)
_MASKED = re.compile(_FORMULA, re.DOTALL)
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|resp|approx|w\.r\.t|i\.i\.d|etc|et al|Eq|Fig|Sec|No)|\b[A-Z])\.$")
_END = re.compile(r"[.!?][)\]\"'”’]?\s++(?=\S)|;\s++")
# What is shorter is told with the statement before it.
_LEAST = 25


def statements_of(definition: str) -> tuple[str, ...]:
    """The sentences of a definition, and what semicolons separate within them, in order; formulas stay whole. Empty for
    a definition without text."""
    text = " ".join(definition.split())
    masked = _MASKED.sub(lambda match: "x" * len(match[0]), text)
    found: list[str] = []
    start = 0
    for match in _END.finditer(masked):
        if masked[match.start()] == "." and _ABBREVIATION.search(masked, max(0, match.start() - 12), match.start() + 1):
            continue
        found.append(text[start : match.end()].strip())
        start = match.end()
    found.append(text[start:].strip())
    joined: list[str] = []
    for each in found:
        if joined and len(each) < _LEAST:
            joined[-1] = f"{joined[-1]} {each}".strip()
        elif each:
            joined.append(each)
    return tuple(joined)


def numbered(definition: str) -> str:
    """The statements of a definition, one a line, as `[1] …`."""
    return "\n".join(f"[{n}] {text}" for n, text in enumerate(statements_of(definition), start=1))


def unanswered(numbers: list[int], definition: str) -> str | None:
    """What is wrong with an answer about the statements with these numbers, in words for the model; None where each
    statement has its answer."""
    there = range(1, len(statements_of(definition)) + 1)
    if lacking := [str(n) for n in there if n not in numbers]:
        return f"statements: nothing is said of {', '.join(lacking)}; answer for each statement of the definition"
    if unknown := [str(n) for n in dict.fromkeys(numbers) if n not in there]:
        return f"statements: the definition has no statement {', '.join(unknown)}"
    return None
