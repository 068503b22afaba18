"""The words of a candidate, of the sentences around it, and of its headings, each a feature of its own.

Which nouns end the names of techniques ("loss", "sampling") and which verbs stand before them ("using", "we propose")
is learned, as in taggers of named entities: Ratinov and Roth, "Design Challenges and Misconceptions in Named Entity
Recognition", CoNLL 2009."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from xkg.build.techniques.definitions import Reader
from xkg.build.techniques.learned.candidates import Candidate
from xkg.build.techniques.names import stem, words

# What the names of these features begin with.
KINDS = frozenset({"begins", "ends", "word", "in heading", "above", "just before", "just after", "before", "after"})
_TOKEN = re.compile(r"[A-Za-z][\w'-]*+|\$|[.,:;()]")
_BEFORE, _AFTER = 60, 50  # characters
_NEAR_BEFORE, _NEAR_AFTER = 4, 3  # tokens
_MOST_MENTIONS = 12


def context_words(reader: Reader, candidate: Candidate, mentions: Sequence[int]) -> dict[str, float]:
    """The words as features: 1 for each of the name and of headings; those around mentions count by mention, divided by
    the square root of the number of mentions."""
    looked_at = mentions[:_MOST_MENTIONS]
    around = Counter(word for i in looked_at for word in _around(reader.sentences[i].text, candidate))
    scale = max(1, len(looked_at)) ** -0.5
    return {
        **{word: count * scale for word, count in around.items()},
        **dict.fromkeys(_of_name(candidate.name), 1.0),
        **dict.fromkeys(_of_headings(candidate), 1.0),
    }


def _of_name(name: str) -> Iterator[str]:
    stems = [stem(word) for word in words(name)]
    if stems:
        yield f"begins: {stems[0]}"
        yield f"ends: {stems[-1]}"
        yield from (f"word: {each}" for each in stems[:-1])
    if len(stems) > 1:
        yield f"ends: {stems[-2]} {stems[-1]}"


def _of_headings(candidate: Candidate) -> Iterator[str]:
    for part in candidate.headings[:1]:
        yield from (f"in heading: {stem(word)}" for word in words(part.title))
        above = part.parent
        while above is not None:
            yield from (f"above: {stem(word)}" for word in words(above.title))
            above = above.parent


def _around(sentence: str, candidate: Candidate) -> Iterator[str]:
    folded = sentence.casefold()
    for name in (*candidate.spellings, *candidate.names):
        start = folded.find(name.casefold())
        if start >= 0:
            break
    else:
        return
    end = start + len(name)
    before = _TOKEN.findall(folded[max(0, start - _BEFORE) : start])
    after = _TOKEN.findall(folded[end : end + _AFTER])
    yield f"just before: {before[-1] if before else ''}"
    yield f"just after: {after[0] if after else ''}"
    if len(before) > 1:
        yield f"just before: {before[-2]} {before[-1]}"
    if len(after) > 1:
        yield f"just after: {after[0]} {after[1]}"
    yield from (f"before: {stem(word)}" for word in before[-_NEAR_BEFORE:])
    yield from (f"after: {stem(word)}" for word in after[:_NEAR_AFTER])
