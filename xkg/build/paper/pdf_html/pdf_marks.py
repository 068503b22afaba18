"""Recognises formulas and the first lines of captions, algorithms and lists by their characters."""

import re
from collections.abc import Sequence

from xkg.build.paper.pdf_html.pdf_layout import Placed

CAPTION = re.compile(r"(?:Figure|FIGURE|Fig\.|FIG\.|Table|TABLE|Tab\.|Listing)\s{0,2}[A-Z]?\.?(?:\d+|[IVX]+)[a-z]?\b")
ALGORITHM = re.compile(r"(?:Algorithm|ALGORITHM|Procedure)\s+[A-Z]?\.?\d{1,3}\b")
STEP = re.compile(
    r"(?i)\s*(?:\d{1,3}\s*[:.]|(?:end|return|input|output|require|ensure|until|repeat|initiali[sz]e|while|for|foreach|if|"
    r"else|data|result|parameters?|procedure|function|do|set|compute|update|sample)\b)"
)
ITEM = re.compile(r"(?:[•▪■◦‣∙–-]|\(?\d{1,2}[.)]|\([a-z]\)|\([ivx]{1,4}\)|\[\d{1,3}\])\s")
TERMINAL = re.compile(r"[.:!?。！？：][)\]”\"’'」』]?\s*$")
_NUMBERED = re.compile(r"\S {2,}\([A-Z]?\.?\d{1,3}(?:\.\d{1,3}){0,2}[a-z]?\)\s*$")
MATH_SIGN = re.compile(r"[=<>≤≥≈∼∝∑∏∫∈→←∂∇±×·⊙∥≜≡]|arg ?m|\(\d{1,3}[a-z]?\)\s*$")


def starts_upper(text: str) -> bool:
    """Returns whether a text starts with a letter that is not lower-case, possibly from a script without case."""
    return text[:1].isalpha() and not text[:1].islower()


def caseless(text: str) -> int:
    """Returns the number of letters that belong to scripts without case."""
    return sum(letter.isalpha() and letter.lower() == letter.upper() for letter in text)


def text_of(group: Sequence[Placed]) -> str:
    return " ".join(placed.line.text.strip() for placed in group)


def is_math(placed: Placed) -> bool:
    """Returns whether a line is part of a displayed formula, with few words but some operators or indices."""
    text = placed.line.text
    words = [w for run in placed.line.runs if not run.style.math for w in re.findall(r"[^\W\d_]{3,}", run.text)]
    printed = len(text.replace(" ", ""))
    inset = placed.line.x0 - placed.left > 1.2 * placed.line.size
    share = sum(len(word) for word in words) / max(1, printed)
    signs = bool(MATH_SIGN.search(text)) or any(run.style.math for run in placed.line.runs)
    if inset and _NUMBERED.search(text) and placed.line.x1 > placed.right - 3:
        return share < 0.7 and len(words) < 8  # the letters in the formula may be unreadable
    return share < 0.4 and signs and (inset or share < 0.15) and len(words) < 8
