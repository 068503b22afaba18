"""Parses R source. No wheel has a grammar for R, so this module tracks brackets, strings and comments itself.

Functions have the form `name <- function(…)`; inner functions belong to the enclosing function. S4, Reference and R6
classes contain the functions that they list, and `setMethod("name", …)` defines a function with that name."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal, NamedTuple

from xkg.build.code.codebase import Module
from xkg.build.code.languages.definitions import Definition, Kind, line_breaks, source_symbols

SUFFIXES = frozenset(("r",))

_LONGEST_SIGNATURE = 400
_TOKEN = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r"|(?P<string>[rR]\"(?P<raw>-*)\((?:[^)]|\)(?!(?P=raw)\"))*+(?:\)(?P=raw)\"|\Z)|\"(?:\\.|[^\"\\])*+(?:\"|\Z)|'(?:\\.|[^'\\])*+(?:'|\Z)|%[^%\n]*+%)"
    r"|(?P<name>`[^`\n]+`|[^\W\d_.][\w.]*|\.[\w.]*)"
    r"|(?P<assign><<?-|:=|=(?!=))|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<newline>\n)|(?P<other>\\(?=\()|[^\s\w])",
    re.DOTALL,
)
_CLASS = frozenset(("setClass", "setRefClass", "R6Class"))
_METHOD = frozenset(("setMethod", "setReplaceMethod"))


class _Token:
    __slots__ = ("end", "kind", "match", "start", "text")

    def __init__(self, match: re.Match[str]) -> None:
        self.kind, self.text = str(match.lastgroup), match[0]
        self.kind = "string" if self.kind == "raw" else self.kind
        self.start, self.end, self.match = match.start(), match.end(), -1


def outline_r(path: str, text: str, repository: str = "") -> Module:
    """Returns the module with its symbols in line order, in linear time. Does not raise errors for invalid text."""
    source = text.encode("utf-8", "surrogatepass")
    plain = source.decode("latin-1")  # one character per byte, so that offsets are in bytes as for other languages
    found = [_Token(match) for match in _TOKEN.finditer(plain)]
    tokens = [token for token in found if token.kind != "comment"]
    broken = _pair(tokens)
    definitions = [Definition("", "module", 0, len(source))]
    around: list[tuple[int, int]] = []  # the last token of each enclosing class or function, and its definition
    for at, token in enumerate(tokens):
        while around and at > around[-1][0]:
            around.pop()
        owner = around[-1][1] if around else 0
        if definitions[owner].kind in ("function", "method") or (defined := _defined(tokens, at)) is None:
            continue
        kind: Kind = "method" if owner and defined.kind == "function" else defined.kind
        name = f"{definitions[owner].name}.{defined.name}" if owner else defined.name
        signature = " ".join(_text(plain[token.start : min(defined.head, token.start + _LONGEST_SIGNATURE)]).split())
        around.append((defined.last, len(definitions)))
        end = tokens[defined.last].end
        definitions.append(Definition(_text(name), kind, token.start, end, signature, parent=owner))
    _document(plain, [token for token in found if token.kind == "comment"], definitions, line_breaks(source))
    return Module(
        path=path,
        text=text,
        language="r",
        dotted=path.rpartition(".")[0].replace("/", "."),
        symbols=source_symbols(path, repository, source, definitions),
        broken=broken,
    )


def _text(piece: str) -> str:
    return piece.encode("latin-1").decode("utf-8", "replace")


def _pair(tokens: Sequence[_Token]) -> bool:
    """Sets the position of each bracket's partner. Returns whether any bracket is unmatched."""
    waiting: list[int] = []
    broken = False
    pairs = {"(": ")", "[": "]", "{": "}"}
    for at, token in enumerate(tokens):
        if token.kind == "open":
            waiting.append(at)
        elif token.kind == "close":
            if not waiting or pairs[tokens[waiting[-1]].text] != token.text:
                broken = True
                continue
            tokens[waiting[-1]].match, token.match = at, waiting[-1]
            waiting.pop()
    return broken or bool(waiting)


class _Defined(NamedTuple):
    """`last` is the definition's last token, and `head` is the offset at which its signature ends."""

    name: str
    kind: Literal["function", "class"]
    last: int
    head: int


def _defined(tokens: Sequence[_Token], at: int) -> _Defined | None:
    """Returns the definition that begins at this token."""
    token = tokens[at]
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if token.kind not in ("name", "string") or following is None:
        return None
    if following.kind == "assign":
        value = next((place for place in range(at + 2, len(tokens)) if tokens[place].kind != "newline"), len(tokens))
        if value < len(tokens) and tokens[value].text in ("function", "\\"):
            return _function(token.text, tokens, value)
        call = value + 3 if [each.text for each in tokens[value : value + 3]] == ["R6", ":", ":"] else value
        if call + 1 < len(tokens) and tokens[call].text in _CLASS:
            return _call(token.text, "class", tokens, call)
    assigned = at > 0 and (tokens[at - 1].kind == "assign" or tokens[at - 1].text == ":")
    named = tokens[at + 2] if following.text == "(" and at + 2 < len(tokens) and not assigned else None
    if token.text in _CLASS | _METHOD and named is not None and named.kind == "string":
        return _call(named.text, "class" if token.text in _CLASS else "function", tokens, at)
    return None


def _function(name: str, tokens: Sequence[_Token], at: int) -> _Defined | None:
    """Returns the function whose `function` keyword is at this token. The function extends to the end of its block or
    expression."""
    opening = at + 1
    if opening >= len(tokens) or tokens[opening].text != "(" or tokens[opening].match < 0:
        return None
    head = last = tokens[opening].match
    begun = False
    place = head + 1
    while place < len(tokens):
        token = tokens[place]
        if token.kind == "close" or (token.text in (",", ";") and begun):
            break
        if token.kind == "newline":
            if begun and not (tokens[last].kind in ("assign", "other") or tokens[last].text[0] == "%"):
                break
            place += 1
            continue
        last = place = token.match if token.kind == "open" and token.match > place else place
        if not begun and token.text == "{":
            break
        begun = True
        place += 1
    return _Defined(_bare(name), "function", last, tokens[head].end)


def _call(name: str, kind: Literal["function", "class"], tokens: Sequence[_Token], at: int) -> _Defined | None:
    last = tokens[at + 1].match
    return _Defined(_bare(name), kind, last, tokens[min(at + 2, last)].end) if last > 0 else None


def _bare(name: str) -> str:
    return name.strip("`\"'")


def _document(plain: str, comments: Sequence[_Token], definitions: Sequence[Definition], breaks: Sequence[int]) -> None:
    """Attaches the comments directly above each definition to that definition."""
    starts = [0, *(offset + 1 for offset in breaks)]
    alone = {
        row: token
        for token in comments
        if not plain[starts[row := bisect_left(breaks, token.start)] : token.start].strip()
    }
    for definition in definitions[1:]:
        row, above = bisect_left(breaks, definition.start) - 1, list[str]()
        while (token := alone.pop(row, None)) is not None:
            above.append(_text(re.sub(r"^#+['*]?\s?", "", token.text)))
            row -= 1
        definition.docstring = "\n".join(reversed(above)).strip()
