"""Splits a Cypher statement into tokens according to the grammars of both LadybugDB and Neo4j 5.

Text that the engines might split differently is rejected. This includes escapes that Neo4j decodes before it looks for
quotes, and letters directly after a number or before `$`. Characters unknown to both grammars are also rejected, as are
comments that end in `**/`, which does not end a comment in LadybugDB."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from xkg.errors import QueryRefusedError

LONGEST_STATEMENT = 20_000

_SPACES = " \t\n\v\f\r\x1c-\x1f\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\u00a0"
_TOKEN = re.compile(
    rf"""
      (?P<space>[{_SPACES}]+ | //[^\n\r]* | /\*.*?\*/)
    | (?P<string>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
    | (?P<quoted>(?:`[^`]*`)+)
    | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)? | \.[0-9]+(?:[eE][+-]?[0-9]+)?)
    | (?P<word>[^\W\d]\w*)
    | (?P<mark>\.\. | /(?!\*) | [()\[\]{{}},:;.=<>+\-*%^|&!$~])
    """,
    re.VERBOSE | re.DOTALL,
)
CLAUSES = frozenset("MATCH OPTIONAL UNWIND WITH RETURN CALL ORDER SKIP LIMIT UNION YIELD".split())
"""Keywords that may start a clause. WHERE is not included, because WHERE may also occur inside patterns and
comprehensions."""

SUBQUERIES = frozenset(["EXISTS", "COUNT", "COLLECT"])

_DECODED = re.compile(r"\\[uU]+([0-9a-fA-F]{4,8})")


@dataclass(frozen=True)
class Token:
    """A token of a Cypher statement. `word` is the token's text in capitals if it is an unquoted word, otherwise ''.
    `gap` means that there is a space before the token."""

    kind: Literal["string", "quoted", "number", "word", "mark"]
    text: str
    word: str
    gap: bool


def mark_at(tokens: Sequence[Token], i: int) -> str:
    """Returns token i if it is a punctuation mark, else ''."""
    return tokens[i].text if 0 <= i < len(tokens) and tokens[i].kind == "mark" else ""


def tokenize(statement: str) -> list[Token]:
    """Returns a statement's tokens, without spaces or comments. Raises `QueryRefusedError` for text that is invalid or
    that the engines might split differently."""
    if len(statement) > LONGEST_STATEMENT:
        raise QueryRefusedError(
            f"the statement has over {LONGEST_STATEMENT:,} characters; pass long values as parameters"
        )
    for char in statement:
        if char == "\0" or "\ud800" <= char <= "\udfff":
            raise refused(f"character U+{ord(char):04X}", "is not allowed in a statement")
    tokens: list[Token] = []
    position, gap = 0, False
    while position < len(statement):
        match = _TOKEN.match(statement, position)
        kind = match.lastgroup if match else None
        if match is None or kind is None:
            raise _unreadable(statement, position)
        text, position = match.group(), match.end()
        _check_escapes(kind, text)
        if kind == "space":
            if text.startswith("/*") and text.endswith("**/") and text != "/**/":
                raise refused("a comment that ends in '**/'", "is read differently by the engines; end it with ' */'")
            gap = True
            continue
        if kind == "number" and position < len(statement) and re.match(r"\w", statement[position]):
            raise refused(
                repr(text + statement[position]), "has a letter directly after a number; put a space between them"
            )
        if text == "$" and not gap and tokens and tokens[-1].kind == "word":
            raise refused(repr(tokens[-1].text + "$"), "is one name to Neo4j; put a space before '$'")
        word = text.upper() if kind == "word" else ""
        tokens.append(Token(kind, text, word, gap))  # type: ignore[arg-type]
        gap = False
    return tokens


def _unreadable(statement: str, position: int) -> QueryRefusedError:
    rest = statement[position:]
    for opener, name in (("'", "string"), ('"', "string"), ("`", "backticked name"), ("/*", "comment")):
        if rest.startswith(opener):
            return refused(f"a {name} at character {position + 1}", "is never closed; close it")
    return refused(f"{rest[0]!r} (U+{ord(rest[0]):04X})", "is only valid inside a string in Cypher; remove it")


def _check_escapes(kind: str, text: str) -> None:
    for match in _DECODED.finditer(text):
        # Neo4j decodes these escapes (four digits each) before it looks for quotes and comment marks.
        if kind != "string" or chr(int(match[1][:4], 16)) in "'\"`\\\n\r" or "U" in match[0]:
            raise refused(repr(match[0]), "hides a character from the engines' lexers; write the character itself")
        if 0xD800 <= int(match[1][:4], 16) <= 0xDFFF:
            raise refused(repr(match[0]), "is half of a surrogate pair; write the character itself")


def refused(what: str, why: str) -> QueryRefusedError:
    """Returns an error for a rejected token, with a remedy."""
    return QueryRefusedError(f"query refused: {what} {why}")
