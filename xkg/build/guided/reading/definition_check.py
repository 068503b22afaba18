"""Checks that a definition can be understood without its paper."""

import re

_FORMULA = re.compile(r"\$\$?[^$]*\$\$?|\\\((?:\\\\|(?!\\[()]).)*+\\\)|\\\[(?:\\\\|(?!\\[\[\]]).)*+\\\]", re.DOTALL)
_POINTER = re.compile(
    r"\\(?:auto|[cC]|eq|page|name|v)?ref\b|\\[cC]ite\w*"
    r"|\b(?:Fig(?:ure)?|Tab(?:le)?|Sec(?:tion)?|Eqn?|Equation|Appendix|Alg(?:orithm)?|Theorem|Lemma|Passage|Excerpt)s?"
    r"\.?[~\s]*(?:\(\d+\)|\d+|[A-Z](?=[\s.,;:)]|$))"
    r"|\b[Aa]s (?:\w+ )?(?:above|below|earlier|previously)\b(?! (?:an?|its?|the|their|them|this|that|zero|one)\b)"
    r"|\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]"
    r"|\bin (?:the|this) (?:paper|section|appendix)\b"
)


# \\theta, \\rho and \\nabla after JSON decoded a single backslash.
_MANGLED = re.compile(r"[\t\r]\w+|\n(?:abla|eq|eg|u|otin)\b")


def mangled(text: str) -> str | None:
    """The first command in `text` that lost its backslash, if any."""
    match = _MANGLED.search(text)
    return match[0].strip() if match else None


def pointer(text: str) -> str | None:
    """The first reference in `text` to a section, an equation, a citation and the like, if any."""
    plain = _FORMULA.sub(" ", text)
    match = _POINTER.search(plain)
    return " ".join(match[0].split()) if match else None
