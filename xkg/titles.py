"""Whether a text read from a bibliography can be the title of a work."""

import re

_WORD = re.compile(r"[^\W\d_]{3,}")
# What stands after a title in every style: the venue, its volume and pages, addresses and identifiers.
_AFTER_TITLE = re.compile(
    r"(?:In(?::|\s+(?:In\b|Proc\.|Proceedings\b|Advances\b|[A-Z][\w.]*\s+[A-Z][\w.]*,\s*eds?\b|[^,]{3,80}\(eds?\.\)))"
    r"|Proc\.|Proceedings\s+of\s+the\b|Advances\s+in\s+Neural\s+Information\b|Advances$|Proceedings$|Springer$|PMLR\b"
    r"|Curran\s+Associates\b|pages?\s+\d|pp\.|vol(?:ume|\.)\s+\d|arXiv\b|URL\b|https?:|www\.|doi\b|ISBN\b|ISSN\b"
    r"|(?:of|and|or|the|In)\b\s*+(?:In\b|\d|$))",
)
_BROKEN = re.compile(r"(?:[^\W\d_]-|\b(?:a|an|and|by|for|from|of|or|the|via|with))$")


def is_title(text: str) -> bool:
    """False for the fragments that a misread bibliography gives: "PMLR", "In In", "Advances", "pages 3-14", a text that
    breaks off at a hyphen or before a noun."""
    text = text.strip()
    return bool(_WORD.search(text)) and not _AFTER_TITLE.match(text) and not _BROKEN.search(text)
