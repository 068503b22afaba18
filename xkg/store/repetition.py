"""How often a statement may repeat: steps of a path, and parts of a regular expression.

A path without an upper bound walks everything that can be reached. A regular expression runs in Java's backtracking
engine on Neo4j, which no transaction timeout interrupts: 40 letters against `(a+)+\\1b` keep a core of the server busy
for years. So a path has a bound, and a pattern is one whose worst case can be told from its text.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xkg.store.cypher_tokens import Token, refused

LONGEST_PATH = 30
"""The most steps of a path; also where LadybugDB itself ends one."""

LONGEST_PATTERN = 200
MOST_STEPS = 4_000_000_000
_TEXT = 20_000

_RECURSION = frozenset(["ALL", "SHORTEST", "TRAIL", "ACYCLIC", "WSHORTEST"])
_TAKE_PATHS = frozenset("LENGTH SIZE NODES RELATIONSHIPS RELS EXISTS COUNT SHORTESTPATH ALLSHORTESTPATHS".split())
_CONTINUES = frozenset("+-*/^%.[{(:&")


def check_paths(tokens: Sequence[Token]) -> None:
    """Raises `QueryRefusedError` for a path of variable length (`[*]`, `[*2..]`, `->+`, `((a)-->(b))*`, `{2,}`) that
    has no upper bound, or one above `LONGEST_PATH`. The brackets of the tokens are balanced."""
    open_brackets: list[_Bracket] = []
    path_ends: set[int] = set()
    for i, token in enumerate(tokens):
        mark = token.text if token.kind == "mark" else ""
        if mark in ("(", "[", "{"):
            if mark == "[" and _mark(tokens, i - 1) == "-" and open_brackets:
                open_brackets[-1].holds_path = True
            if mark == "{" and (_is_number(tokens, i + 1) or _mark(tokens, i + 1) == ","):
                _check_quantifier(tokens, i)
            open_brackets.append(_Bracket(tokens, i))
        elif mark in (")", "]", "}"):
            bracket = open_brackets.pop()
            if bracket.holds_path and mark == ")":
                if not bracket.of_function:
                    path_ends.add(i)
                if open_brackets:
                    open_brackets[-1].holds_path = True
        elif mark == "-" and _mark(tokens, i - 1) == "-" and open_brackets:
            open_brackets[-1].holds_path = True
        elif mark in ("+", "*"):
            if i - 1 in path_ends or _ends_arrow(tokens, i - 1):
                raise refused(f"'{mark}' after a path", f"has no upper bound; write {{1,{LONGEST_PATH}}} or less")
            if mark == "*" and open_brackets and open_brackets[-1].of_relationship:
                _check_length(tokens, i)


class _Bracket:
    def __init__(self, tokens: Sequence[Token], i: int) -> None:
        self.of_relationship = tokens[i].text == "[" and _mark(tokens, i - 1) == "-"
        self.of_function = i > 0 and tokens[i - 1].word in _TAKE_PATHS
        self.holds_path = False


def _mark(tokens: Sequence[Token], i: int) -> str:
    return tokens[i].text if 0 <= i < len(tokens) and tokens[i].kind == "mark" else ""


def _is_number(tokens: Sequence[Token], i: int) -> bool:
    return i < len(tokens) and tokens[i].kind == "number"


def _ends_arrow(tokens: Sequence[Token], i: int) -> bool:
    """Whether token i is the last of `]-`, `]->`, `--` or `-->`."""
    line = i - 1 if _mark(tokens, i) == ">" else i
    return _mark(tokens, line) == "-" and _mark(tokens, line - 1) in ("-", "]")


def _check_quantifier(tokens: Sequence[Token], brace: int) -> None:
    """`{3}`, `{,5}`, `{1,5}`: what stands in braces and starts with a number or a comma is nothing else."""
    end = brace + 1
    while _mark(tokens, end) != "}" and end < len(tokens):
        end += 1
    inside = [token.text for token in tokens[brace + 1 : end]]
    _check_bound("".join(inside), inside[-1], "{" + "".join(inside) + "}", f"{{1,{LONGEST_PATH}}}")


def _check_length(tokens: Sequence[Token], star: int) -> None:
    """`*`, then LadybugDB's way to walk (`SHORTEST`, `WSHORTEST(cost)`), then `3`, `..5` or `1..5`."""
    i = star + 1
    while i < len(tokens) and tokens[i].word in _RECURSION:
        i += 1
        if _mark(tokens, i) == "(" and tokens[i - 1].word == "WSHORTEST":
            i += 3
    bounds = []
    while _is_number(tokens, i) or _mark(tokens, i) == "..":
        bounds.append(tokens[i].text)
        i += 1
    said = "".join(bounds)
    _check_bound(said, bounds[-1] if bounds else "", f"'*{said}'", f"*1..{LONGEST_PATH}")


def _check_bound(said: str, bound: str, shown: str, example: str) -> None:
    if not re.fullmatch(r"(\d*(\.\.|,))?\d*", said):
        raise refused(shown, f"is no length of a path; write {example} or less")
    if not bound.isdigit():
        raise refused(shown, f"has no upper bound, and would walk all that can be reached; write {example} or less")
    if len(bound) > 9 or int(bound) > LONGEST_PATH or (bound[0] == "0" and bound != "0"):
        raise refused(shown, f"is a longer path than {LONGEST_PATH} steps; write {example} or less")


def check_patterns(tokens: Sequence[Token], parameters: Mapping[str, Any]) -> None:
    """Raises `QueryRefusedError` where `=~` is not followed by a string, or by a parameter, or where that is a pattern
    whose worst case is too slow."""
    for i in range(1, len(tokens)):
        if not (_mark(tokens, i) == "~" and _mark(tokens, i - 1) == "="):
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
            after.kind == "string" or after.text in _CONTINUES or _mark(tokens, end) == _mark(tokens, end + 1) == "|"
        )
        if pattern is None or continued:
            raise refused(
                "'=~'", "must be followed by one string or one parameter that is the whole pattern; or use CONTAINS"
            )
        if isinstance(pattern, str):
            check_pattern(pattern)


_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"', "`": "`"}


def _decoded(literal: str) -> str:
    """What a string of a statement says; an escape that Cypher does not know stays."""

    def character(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else _ESCAPES.get(match[2], match[0])

    return _ESCAPE.sub(character, literal[1:-1])


_PIECE = re.compile(
    r"""
      (?P<refers>\\[1-9] | \\k)
    | (?P<quotes>\\[QE])
    | (?P<group>\((?:\?(?:<?[=!] | > | <\w+> | (?P<flags>[a-wyzA-Z]*(?:-[a-zA-Z]*)?) (?P<rest>[:)]) ))?)
    | (?P<close>\))
    | (?P<either>\|)
    | (?P<quantifier>(?:[*+?] | \{(?P<low>\d+)(?P<open>,(?P<high>\d*))?\})[?+]?)
    | (?P<atom>\\[pPxN]\{[^}]*\} | \\c. | \\[^c] | \[\^?(?:[^\[\]\\] | \\[^Qc])+\] | [^\\\[\](){}*+?|])
    """,
    re.VERBOSE | re.DOTALL,
)


_TAKES_ALL = re.compile(r"\(\?[a-wyz]*s[a-wyz]*\)(?!.*\(\?).*(?<!\\)\.\*", re.DOTALL)


class _Group:
    def __init__(self) -> None:
        self.ways = 1
        self.unbounded = 0
        self.alternatives = 1

    def repeats(self) -> bool:
        return self.unbounded > 0 or self.ways * self.alternatives > 1


def check_pattern(pattern: str) -> None:
    """Raises `QueryRefusedError` unless a backtracking engine ends soon on every text: no part is matched again by
    reference, nothing that can match in several ways is repeated, and the ways multiply to few."""
    if len(pattern) > LONGEST_PATTERN:
        raise _slow(pattern, f"is longer than {LONGEST_PATTERN} characters")
    position, end = 0, len(pattern)
    if _TAKES_ALL.fullmatch(pattern):
        end -= 2  # with (?s) a last `.*` takes all that is left and never gives back
    groups = [_Group()]
    closed: _Group | None = None
    repeatable = False
    while position < end:
        piece = _PIECE.match(pattern, position, end)
        if piece is None:
            raise _slow(pattern, f"cannot be judged at {pattern[position]!r}")
        position = piece.end()
        kind = piece.lastgroup
        if piece["refers"]:
            raise _slow(pattern, "refers back to a group")
        if piece["quotes"]:
            raise _slow(pattern, "quotes with \\Q; write a backslash before each character")
        if piece["group"]:
            repeatable = False
            if piece["rest"] != ")":
                groups.append(_Group())
        elif piece["close"]:
            if len(groups) == 1:
                raise _slow(pattern, "closes a group that is not open")
            closed = groups.pop()
            groups[-1].ways *= closed.ways * closed.alternatives
            groups[-1].unbounded += closed.unbounded
            repeatable = True
        elif piece["either"]:
            groups[-1].alternatives += 1
            repeatable = False
        elif piece["quantifier"]:
            if not repeatable:
                raise _slow(pattern, "repeats nothing")
            _repeat(pattern, piece, groups[-1], closed)
            closed, repeatable = None, False
        else:
            closed, repeatable = None, kind == "atom"
    if len(groups) > 1:
        raise _slow(pattern, "leaves a group open")
    whole = groups[0]
    if whole.ways * whole.alternatives * _TEXT**whole.unbounded > MOST_STEPS:
        raise _slow(
            pattern, "can match in too many ways; use CONTAINS, at most two * or +, or start with (?s) and end with .*"
        )


def _repeat(pattern: str, piece: re.Match[str], group: _Group, closed: _Group | None) -> None:
    quantifier = piece["quantifier"]
    if quantifier[0] == "?":
        group.ways *= 2
        return
    if closed is not None and closed.repeats():
        raise _slow(pattern, "repeats a group that itself repeats or has alternatives")
    if quantifier[0] in "*+" or piece["high"] == "":
        group.unbounded += 1
    elif piece["open"]:
        group.ways *= max(1, int(piece["high"]) - int(piece["low"]) + 1)


def _slow(pattern: str, why: str) -> Exception:
    return refused(f"the regular expression {pattern[:60]!r}", why)
