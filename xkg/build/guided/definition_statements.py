"""Splits a definition into numbered statements. A module must implement each statement or explain why it does not."""

import re

_FORMULA = (
    r"\$\$[^$]{0,4000}+\$\$|\$[^$]{0,4000}+\$|\\\((?:(?!\\[()]).){0,4000}+\\\)|\\\[(?:(?!\\[\[\]]).){0,4000}+\\\]"
)
_MASKED = re.compile(_FORMULA, re.DOTALL)
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|resp|approx|w\.r\.t|i\.i\.d|etc|et al|Eq|Fig|Sec|No)|\b[A-Z])\.$")
# A sentence such as "$\mu$ and $\Sigma$ are the mean and the covariance" belongs to the previous statement.
_SYMBOL = r"(?:\$[^$]{1,80}\$|[A-Za-z\u0370-\u03ff]\w?)"
_EXPLAINS = re.compile(
    rf"(?:where |here,? |with )?{_SYMBOL}(?:(?:,| and|, and) {_SYMBOL}){{0,6}} "
    r"(?:is|are|denotes?|means?) (?:the|an?|its|their)\b",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?][)\]\"'”’]?\s++(?=\S)|;\s++")
# Shorter statements are joined to the previous one.
_LEAST = 25


def statements_of(definition: str) -> tuple[str, ...]:
    """Returns the sentences in a definition, split at semicolons but never inside formulas. Returns () if the
    definition has no text."""
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
        if joined and (len(each) < _LEAST or _EXPLAINS.match(each)):
            joined[-1] = f"{joined[-1]} {each}".strip()
        elif each:
            joined.append(each)
    return tuple(joined)


def numbered(definition: str) -> str:
    """Numbers the statements in a definition, and writes each on its own line as `[1] …`."""
    return "\n".join(f"[{n}] {text}" for n, text in enumerate(statements_of(definition), start=1))
