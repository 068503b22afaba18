"""Checks that a definition can be understood without its paper and that all its numbers occur there."""

import re
from functools import lru_cache

from xkg.build.paper.document import Document

_FORMULA = re.compile(r"\$\$?[^$]*\$\$?|\\\((?:\\\\|(?!\\[()]).)*+\\\)|\\\[(?:\\\\|(?!\\[\[\]]).)*+\\\]", re.DOTALL)
_POINTER = re.compile(
    r"\\(?:auto|[cC]|eq|page|name|v)?ref\b|\\[cC]ite\w*"
    r"|\b(?:Fig(?:ure)?|Tab(?:le)?|Sec(?:tion)?|Eqn?|Equation|Appendix|Alg(?:orithm)?|Theorem|Lemma|Passage|Excerpt)s?"
    r"\.?[~\s]*(?:\(\d+\)|\d+|[A-Z](?=[\s.,;:)]|$))"
    r"|\b[Aa]s (?:\w+ )?(?:above|below|earlier|previously)\b(?! (?:an?|its?|the|their|them|this|that|zero|one)\b)"
    r"|\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]"
    r"|\bin (?:the|this) (?:section|appendix)\b"
)


# Matches \\theta, \\rho and \\nabla after JSON has decoded their single backslash.
_MANGLED = re.compile(r"[\t\r]\w+|\n(?:abla|eq|eg|u|otin)\b")


def mangled(text: str) -> str | None:
    """Returns the first command in `text` that lost its backslash, or None if there is none."""
    match = _MANGLED.search(text)
    return match[0].strip() if match else None


def pointer(text: str) -> str | None:
    """Returns the first reference in `text` to a section, equation, citation or the like, or None if there is none."""
    plain = _FORMULA.sub(" ", text)
    match = _POINTER.search(plain)
    return " ".join(match[0].split()) if match else None


_NUMBER = re.compile(r"\d{1,3}(?:(?:,|\{,\})\d{3})++|\d++(?:\.\d++)?|\.\d++")
# Smaller whole numbers may be spelled out.
_SPELLED = 20


def foreign_numbers(definition: str, document: Document) -> list[str]:
    """Returns the numbers in a definition that do not occur in the paper, in any notation. For example, 0.50 equals .5,
    1,000 equals 1000, and 5 % equals 0.05."""
    known = _numbers_of(document.title, document.abstract, document.text)
    return [text for text, value in _values(definition).items() if not known & {value, value / 100, value * 100}]


def _values(text: str) -> dict[str, float]:
    found = {match[0]: float(re.sub(r"[,{}]", "", match[0])) for match in _NUMBER.finditer(text)}
    return {written: value for written, value in found.items() if not (value <= _SPELLED and value.is_integer())}


@lru_cache(maxsize=4)
def _numbers_of(*texts: str) -> frozenset[float]:
    return frozenset(value for text in texts for value in _values(text).values())
