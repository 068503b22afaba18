"""Classifies groups of printed lines as text, captions, algorithms, formulas or none of these."""

import re
from collections.abc import Sequence
from typing import Literal

from xkg.build.paper.pdf_html.pdf_layout import Placed
from xkg.build.paper.pdf_html.pdf_marks import ALGORITHM, CAPTION, MATH_SIGN, STEP, TERMINAL, caseless, is_math, text_of

Kind = Literal["title", "front", "abstract", "heading", "text", "caption", "algorithm", "equation", "reference"]
_NOTE = re.compile(r"[∗*†‡§¶\d]|(?:Corresponding|E-?mail|Manuscript|Copyright|©|Permission|The authors?)\b")
_NOT_TEXT = re.compile(r"(?i)(?:key ?words|index terms|ccs concepts|acm reference|categories and subject)\b")


def kind_of(group: Sequence[Placed], body: float) -> Kind | None:
    text = text_of(group)
    if ALGORITHM.match(text) and sum(bool(STEP.match(p.line.text)) or "←" in p.line.text for p in group) >= 2:
        return "algorithm"
    if is_caption(group, body):
        return "caption"
    if all(is_math(placed) for placed in group):
        displayed = any(abs(p.line.size - body) < 1.3 for p in group)
        return "equation" if displayed and any(MATH_SIGN.search(p.line.text) for p in group) else None
    gaps = [placed.line.text.strip().count("  ") for placed in group if not is_math(placed)]
    if max(gaps) > 1 or sum(gap > 0 for gap in gaps) * 2 > len(gaps):
        return None  # side-by-side figure labels or table cells
    if _NOT_TEXT.match(text):
        return None
    size = max(placed.line.size for placed in group)  # the first line may be mostly indices
    if size < 0.93 * body and _NOTE.match(text):
        return None
    printed = text.replace(" ", "")
    letters, words = sum(c.isalpha() for c in printed), re.findall(r"[^\W\d_]{2,}", text)
    bare = caseless(printed)
    small = bare + sum(c.islower() for c in printed)
    continued = text[0].islower() and TERMINAL.search(text) is not None and abs(size - body) < 0.6
    if letters < 0.6 * len(printed) or (len(words) + bare // 2 < 6 and not continued) or small < 0.5 * letters:
        return None
    wide = any(p.line.x1 - p.line.x0 > 0.6 * (p.right - p.left) for p in group)
    return "text" if wide or continued or (TERMINAL.search(text) and abs(size - body) < 1.1) else None


def is_caption(group: Sequence[Placed], body: float) -> bool:
    """Returns whether the group is a caption, unlike a sentence that begins with "Figure 3 shows"."""
    text, first = text_of(group), group[0].line
    match = CAPTION.match(text)
    if match is None:
        return False
    set_off = first.runs[0].style.bold or first.runs[0].style.italic or first.size < 0.96 * body
    return set_off or re.match(r"\s?[.:|–—]", text[match.end() :]) is not None or not text[match.end() :].strip()


def introduces(group: Sequence[Placed], beside: Sequence[Sequence[Placed]], body: float) -> bool:
    """Returns whether a few words at the left edge, such as "or, equivalently,", belong to an adjacent displayed
    formula."""
    first, text = group[0], text_of(group)
    letters = sum(c.isalpha() for c in text)
    at_edge = in_size(first, body) and -1 < first.line.x0 - first.left < 2.5 * first.line.size
    few = "  " in text or not re.search(r"[^\W\d_]{2}", text) or letters < 0.6 * len(text.replace(" ", ""))
    return at_edge and not few and any(all(is_math(placed) for placed in other) for other in beside)


def in_size(placed: Placed, body: float) -> bool:
    return abs(placed.line.size - body) < 0.6
