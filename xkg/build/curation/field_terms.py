"""The terms that a paper's field has for its subject, as others use them: phrases that titles of its references share
and that its own text uses too. A search for a target's own names ("Match Step") finds what happens to be named alike;
these find what the target does not cite."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

MOST = 4
_SHARED = 2
_WORD = re.compile(r"[a-z0-9]++(?:-[a-z0-9]++)*+")
# Words that join others, of which no term consists.
_JOINING = frozenset(
    "a an and are as at based be by can do does for from how in into is it its more not of on or our that the their "
    "them this to toward towards under using via we what when which with without you your".split()
)


def field_terms(titles: Iterable[str], text: str, most: int = MOST) -> tuple[str, ...]:
    """At most `most` terms of two or three words, those that most titles share first, none a part of another."""
    shared = Counter(term for title in titles for term in set(_phrases(title)))
    own = " ".join(_WORD.findall(text.lower()))
    known = [(-count, -own.count(term), term) for term, count in shared.items() if count >= _SHARED and term in own]
    terms: list[str] = []
    for _, _, term in sorted(known):
        if not any(term in other or other in term for other in terms):
            terms.append(term)
        if len(terms) == most:
            break
    return tuple(terms)


def _phrases(title: str) -> Iterator[str]:
    words = _WORD.findall(title[:1000].lower())
    for length in (2, 3):
        for start in range(len(words) - length + 1):
            phrase = words[start : start + length]
            if all(len(word) > 2 and word not in _JOINING for word in phrase):
                yield " ".join(phrase)
