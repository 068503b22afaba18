"""Splits long queries into sentences and clauses, and selects which parts to encode.

Encoding takes twice as long as all other steps of a search, and longer texts take longer to encode. Encoding only some
parts of a query gives results that are just as good. Text search always uses the whole query."""

import re
from collections.abc import Callable, Sequence

from xkg.embeddings.base import Passage

LONG_QUERY_WORDS = 18
PART_WORDS = 4
MOST_PARTS = 8
ENCODED_PIECES = 130
"""Maximum number of words and punctuation marks to encode, about 165 tokens. In tests with this limit, a technique was
still among the first rows if the query was the technique's definition, even with words omitted, or if the query
combined a need with a different technique's definition."""

_SENTENCE = re.compile(r"(?<=[.;!?:])\s+")
_CLAUSE = re.compile(r"[,:]\s+(?:(?:and|or|then|but)\s+)?|(?<!\s)\s++(?:and then|then|while|and)\s+")
_PIECE = re.compile(r"\w+|[^\w\s]")


def parts(query: str) -> list[str]:
    """Returns the sentences and clauses in a long query that are long enough to stand alone. Empty if the query is
    short or has only one such clause."""
    if len(query.split()) <= LONG_QUERY_WORDS:
        return []
    long_enough = [clause for clause in _clauses(query) if len(clause.split()) >= PART_WORDS]
    return long_enough[:MOST_PARTS] if len(long_enough) > 1 else []


def weightiest(parts: Sequence[str], weight: Callable[[str], float]) -> list[str]:
    """Returns the `parts` to encode, in order. The first part, which may be a name, is always included. Other parts are
    included in order of weight relative to length, as long as they fit."""
    sizes = {part: pieces(part) for part in parts}
    room = ENCODED_PIECES - sum(sizes.values())
    if room >= 0:
        return list(parts)
    weights = {part: weight(part) / sizes[part] ** 0.5 for part in parts[1:]}
    room = ENCODED_PIECES - sizes[parts[0]]
    chosen = {parts[0]}
    for part in sorted(weights, key=lambda part: -weights[part]):
        if sizes[part] <= room:
            room -= sizes[part]
            chosen.add(part)
    return [part for part in parts if part in chosen]


def passage(query: str, parts: Sequence[str], encoded: Sequence[str]) -> str:
    """Returns the text to encode for the whole query. This is the `encoded` parts, and as much of the text outside
    `parts` as fits."""
    if not parts:
        return query
    known = set(parts)
    room = ENCODED_PIECES - sum(map(pieces, encoded))
    beside: list[str] = []
    for word in " ".join(clause for clause in _clauses(query) if clause not in known).split():
        room -= pieces(word)
        if room < 0:
            break
        beside.append(word)
    return Passage(query, [*encoded, *([" ".join(beside)] if beside else [])])


def pieces(text: str) -> int:
    """Returns the number of words and punctuation marks. Each word or mark is one or more tokens."""
    return len(_PIECE.findall(text))


def _clauses(query: str) -> list[str]:
    clauses = (clause.strip() for sentence in _SENTENCE.split(query) for clause in _CLAUSE.split(sentence))
    return [clause for clause in dict.fromkeys(clauses) if clause]
