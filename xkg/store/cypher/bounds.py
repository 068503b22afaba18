"""Limits regular expressions and constructs that are slow to plan.

On Neo4j, regular expressions run in Java's backtracking engine, which ignores transaction timeouts. Matching 40 letters
against `(a+)+\\1b` would keep one of the server's cores busy for years. Patterns must therefore be simple: words with a
few wildcards. The planner ignores timeouts too. Path lengths need no limit, because Neo4j does check the time during
traversal."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xkg.store.cypher.tokens import SUBQUERIES, Token, mark_at, refused

MOST_OF = {"XOR": 10, "&": 10, "NOT": 100}
"""Maximum number of times that each of these operators may occur in a statement. Neo4j takes hours to plan 25 XOR
operators, or 60 labels such as (A|B)&(C|D)."""

MOST_LABELS = 10
"""Maximum number of OR operators next to a label. Neo4j takes hours to plan 20 such operators, as in (n:A OR n:B) AND
(n:C OR n:D) AND …"""

DEEPEST = 8
"""Maximum nesting depth of subqueries and CASE."""

LONGEST_PATTERN = 200
MOST_UNBOUNDED = 2
MOST_OPTIONAL = 3
LARGEST_COUNT = 100

_CONTINUES = frozenset("+-*/^%.[{(:&")


def check_logic(words: Sequence[str], tokens: Sequence[Token]) -> None:
    """Raises `QueryRefusedError` if planning the statement could take too long on Neo4j. The number and depth of
    constructs with exponential planning cost are limited. `words` contains each token's keyword, or ''. Brackets must
    be balanced."""
    for word, most in MOST_OF.items():
        if words.count(word) + sum(mark_at(tokens, i) == word for i in range(len(tokens))) > most:
            raise refused(word, f"occurs more than {most} times in one statement; rewrite it using WITH or UNWIND")
    if sum(_beside_label(tokens, i) for i, word in enumerate(words) if word == "OR") > MOST_LABELS:
        raise refused("OR", f"occurs more than {MOST_LABELS} times next to a label; write the labels as (n:A|B|C)")
    cases, subqueries = 0, [False]
    for i, word in enumerate(words):
        cases += (word == "CASE") - (word == "END")
        if mark_at(tokens, i) == "{":
            subqueries.append(words[i - 1] in SUBQUERIES)
        elif mark_at(tokens, i) == "}":
            subqueries.pop()
        if cases > DEEPEST or sum(subqueries) > DEEPEST:
            what = "CASE" if cases > DEEPEST else "a subquery"
            raise refused(what, f"is nested more than {DEEPEST} levels deep; rewrite it using WITH")


def _beside_label(tokens: Sequence[Token], i: int) -> bool:
    """Returns whether the OR at token i is directly before or after `n:Label`."""
    after = i + 1
    while mark_at(tokens, after) == "(" or (after < len(tokens) and tokens[after].word == "NOT"):
        after += 1
    before = i - 1
    while mark_at(tokens, before) == ")":
        before -= 1
    return mark_at(tokens, after + 1) == ":" or mark_at(tokens, before - 1) == ":"


def check_patterns(tokens: Sequence[Token], parameters: Mapping[str, Any]) -> None:
    """Raises `QueryRefusedError` if `=~` is not followed by a string or a parameter, or if the pattern is not
    simple."""
    for i in range(1, len(tokens)):
        if not (mark_at(tokens, i) == "~" and mark_at(tokens, i - 1) == "="):
            continue
        end = i + 2
        operand = tokens[i + 1] if i + 1 < len(tokens) else None
        pattern: Any = None
        if operand is not None and operand.kind == "string":
            pattern = _decoded(operand.text)
        elif operand is not None and operand.text == "$" and end < len(tokens):
            pattern = parameters.get(tokens[end].text.strip("`"), "")
            end += 1
        after = tokens[end] if end < len(tokens) else None
        continued = after is not None and (
            after.kind == "string"
            or after.text in _CONTINUES
            or mark_at(tokens, end) == mark_at(tokens, end + 1) == "|"
        )
        if pattern is None or continued:
            raise refused(
                "'=~'", "must be followed by the whole pattern as one string or one parameter; or use CONTAINS"
            )
        if isinstance(pattern, str):
            check_pattern(pattern)


_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "`": "`"}


def _decoded(literal: str) -> str:
    """Decodes a string literal. Escapes that Cypher does not define are kept."""

    def character(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else _ESCAPES.get(match[2], match[0])

    return _ESCAPE.sub(character, literal[1:-1])


_PIECE = re.compile(
    r"""
      (?P<flags>\(\?[is]+\))
    | (?P<open>\((?:\?:|(?!\?)))
    | (?P<close>\))
    | (?P<either>\|)
    | (?P<unbounded>(?:[*+]|\{\d{1,3},\})\??)
    | (?P<optional>(?:\?|\{\d{1,3}(?:,(?P<most>\d{1,3}))?\})\??)
    | (?P<atom>\\[^1-9kQEpPxNcu] | \[\^?(?:[^\[\]\\&] | \\[^Qc])+\] | [^\\\[\](){}*+?|])
    """,
    re.VERBOSE | re.DOTALL,
)


def check_pattern(pattern: str) -> None:
    """Raises `QueryRefusedError` unless the pattern is simple. A simple pattern consists of characters and character
    classes, only a few of which are repeated, and at most one group without repetition. Matching a simple pattern takes
    at most quadratic time in the length of the text."""
    if len(pattern) > LONGEST_PATTERN:
        raise _refused(pattern, f"is longer than {LONGEST_PATTERN} characters")
    kinds: list[str] = []
    position = 0
    while position < len(pattern):
        piece = _PIECE.match(pattern, position)
        if piece is None or piece.lastgroup is None:
            raise _refused(pattern, f"is not simple at {pattern[position:][:12]!r}")
        kind = "optional" if piece["optional"] else piece.lastgroup
        if kind in ("unbounded", "optional") and kinds[-1:] != ["atom"]:
            raise _refused(pattern, f"repeats something other than a single character at {piece[0]!r}")
        if kind == "flags" and position:
            raise _refused(pattern, f"has {piece[0]} after its start")
        if int(piece["most"] or 0) > LARGEST_COUNT:
            raise _refused(pattern, f"repeats more than {LARGEST_COUNT} times at {piece[0]!r}")
        kinds.append(kind)
        position = piece.end()
    groups = [kind for kind in kinds if kind in ("open", "close")]
    if groups not in ([], ["open", "close"]):
        raise _refused(pattern, "has more than one group, or an unclosed group")
    takes_the_rest = bool(re.match(r"\(\?[is]*s", pattern)) and pattern.endswith(".*") and "either" not in kinds
    if kinds.count("unbounded") - takes_the_rest > MOST_UNBOUNDED or kinds.count("optional") > MOST_OPTIONAL:
        raise _refused(pattern, f"repeats too often: at most {MOST_UNBOUNDED} * or +, and {MOST_OPTIONAL} ? or {{1,9}}")


def _refused(pattern: str, why: str) -> Exception:
    return refused(
        f"the regular expression {pattern[:60]!r}",
        f"{why}; write a simple one, such as '(?i).*(word|other).*', or use CONTAINS",
    )
