"""Detects whether a paper is in English. Extraction without a model works only for English."""

import re

from xkg.build.paper.document import Document
from xkg.build.paper.plain import plain

_COMMON = frozenset(
    "the of and to for that with are by this it be as on an can which from is we their each its "
    "these has our after".split()
)
"""Words that make up about 25 % of the words in English papers, and at most 3 % in other languages."""
_FORMULA = re.compile(r"\$[^$]{0,2000}\$")
_FEWEST_WORDS, _LEAST_SHARE = 20, 0.06
_MOST_OTHER_LETTERS = 0.2
"""English prose has at most this share of letters from other scripts, such as Chinese or Greek."""


def is_english(document: Document) -> bool:
    """Returns whether a paper is in English. Returns True if the paper contains too little text to decide. Ignores the
    abstract, because many papers in other languages have an English abstract."""
    start = document.sections[0].start if document.sections else 0
    text = plain(document, start, len(document.text))
    letters = [character for character in text if character.isalpha()]
    if sum(character > "\u024f" for character in letters) > len(letters) * _MOST_OTHER_LETTERS:
        return False
    words = re.findall(r"[^\W\d_]+", _FORMULA.sub(" ", text).casefold())
    common = sum(word in _COMMON for word in words)
    return len(words) < _FEWEST_WORDS or common >= len(words) * _LEAST_SHARE
