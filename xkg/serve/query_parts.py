"""A long query in its parts: one vector blurs several needs, and each of them has a technique of its own."""

import re

LONG_QUERY_WORDS = 18
PART_WORDS = 4
MOST_PARTS = 8

_SENTENCE = re.compile(r"(?<=[.;!?:])\s+")
_CLAUSE = re.compile(r"[,:]\s+(?:(?:and|or|then|but)\s+)?|(?<!\s)\s++(?:and then|then|while|and)\s+")


def parts(query: str) -> list[str]:
    """The sentences and clauses of a long query that can stand alone; none for a short one, or where it is all one."""
    if len(query.split()) <= LONG_QUERY_WORDS:
        return []
    clauses = [clause.strip() for sentence in _SENTENCE.split(query) for clause in _CLAUSE.split(sentence)]
    telling = [clause for clause in dict.fromkeys(clauses) if len(clause.split()) >= PART_WORDS]
    return telling[:MOST_PARTS] if len(telling) > 1 else []
