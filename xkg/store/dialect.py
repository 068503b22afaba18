"""Where the engines' Cypher differs in a word: the named queries are written as Neo4j reads them, so that a file can be
pasted into its browser, and turned into LadybugDB's words here.

What differs in more than a word has a statement of its own for Neo4j, `NAME.neo4j.cypher`.
"""

import re

_FIRST_PART = re.compile(r"\bsplit\((\w+(?:\.\w+)?), ('[^']')\)\[0\]")


def embedded(statement: str) -> str:
    """The statement in LadybugDB's words: it has no `split`, and counts the items of a list from 1."""
    return _FIRST_PART.sub(r"split_part(\1, \2, 1)", statement)
