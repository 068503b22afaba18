"""The sentences and clauses of a long query, and which of them are encoded.

Encoding costs twice as much as all else together, and grows with the text, while a part of it finds what the whole
does. Text search reads all of a query.
"""

import re
from collections.abc import Callable, Sequence

from xkg.embeddings.base import Passage

LONG_QUERY_WORDS = 18
PART_WORDS = 4
MOST_PARTS = 8
ENCODED_PIECES = 130
"""Words and marks of a query's clauses that are encoded, some 165 tokens. Techniques asked for by their definitions,
whole or with words left out, and needs beside another technique's definition stayed among the first rows."""

_SENTENCE = re.compile(r"(?<=[.;!?:])\s+")
_CLAUSE = re.compile(r"[,:]\s+(?:(?:and|or|then|but)\s+)?|(?<!\s)\s++(?:and then|then|while|and)\s+")
_PIECE = re.compile(r"\w+|[^\w\s]")


def parts(query: str) -> list[str]:
    """The sentences and clauses of a long query that can stand alone; none for a short query or a single clause."""
    if len(query.split()) <= LONG_QUERY_WORDS:
        return []
    long_enough = [clause for clause in _clauses(query) if len(clause.split()) >= PART_WORDS]
    return long_enough[:MOST_PARTS] if len(long_enough) > 1 else []


def weightiest(parts: Sequence[str], weight: Callable[[str], float]) -> list[str]:
    """The first of the `parts` of a query, which may be a name, and of the others those that weigh most for their
    length, as many as are encoded, in their order."""
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
    """The query to be encoded by those of its `parts` that are `encoded`, and, where there is room, by what is left
    beside its parts."""
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
    """The number of words and marks, of which a model makes a token or more each."""
    return len(_PIECE.findall(text))


def _clauses(query: str) -> list[str]:
    """Each once."""
    clauses = (clause.strip() for sentence in _SENTENCE.split(query) for clause in _CLAUSE.split(sentence))
    return [clause for clause in dict.fromkeys(clauses) if clause]
