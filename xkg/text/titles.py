"""Checks whether text from a bibliography can be a title, and measures how similar two titles are."""

import re
import unicodedata
from collections import Counter

_WORD = re.compile(r"[^\W\d_]{3,}")
# Matches text that follows a title in any style, such as the venue, its volume and pages, addresses and identifiers.
_AFTER_TITLE = re.compile(
    r"(?:In(?::|\s+(?:In\b|Proc\.|Proceedings\b|Advances\b|[A-Z][\w.]*\s+[A-Z][\w.]*,\s*eds?\b|[^,]{3,80}\(eds?\.\)))"
    r"|Proc\.|Proceedings\s+of\s+the\b|Advances\s+in\s+Neural\s+Information\b|Advances$|Proceedings$|Springer$|PMLR\b"
    r"|Curran\s+Associates\b|pages?\s+\d|pp\.|vol(?:ume|\.)\s+\d|arXiv\b|URL\b|https?:|www\.|doi\b|ISBN\b|ISSN\b"
    r"|(?:of|and|or|the|In)\b\s*+(?:In\b|\d|$))",
)
_BROKEN = re.compile(r"(?:[^\W\d_]-|\b(?:a|an|and|by|for|from|of|or|the|via|with))$")


def is_title(text: str) -> bool:
    """Returns whether text can be a title. Returns False for fragments from a misread bibliography, such as "PMLR", "In
    In", "Advances" or "pages 3-14". Also returns False for text that breaks off at a hyphen or before a noun."""
    text = text.strip()
    return bool(_WORD.search(text)) and not _AFTER_TITLE.match(text) and not _BROKEN.search(text)


def title_similarity(first: str, second: str) -> float:
    """Returns the similarity of two titles, from 0 to 1. The similarity is 1 if the titles have the same letters and
    digits. Otherwise, the similarity is Dice's coefficient over their words, counting repetitions."""
    words = [_words(title) for title in (first, second)]
    if not all(words):
        return 0.0
    if "".join(words[0]) == "".join(words[1]):
        return 1.0
    shared = (Counter(words[0]) & Counter(words[1])).total()
    return min(2 * shared / (len(words[0]) + len(words[1])), 0.99)


def same_title(title: str) -> str:
    """Returns a key that is the same for titles with a similarity of 1, or '' if the title has neither letters nor
    digits."""
    return "".join(_words(title))


def _words(title: str) -> list[str]:
    plain = re.sub(r"\\[a-zA-Z]{1,30}|[{}$]", "", title[:1000])
    letters = unicodedata.normalize("NFKD", plain)
    return re.findall(r"[^\W_]+", "".join(c for c in letters if not unicodedata.combining(c)).casefold())
