"""Parses R source. No Python wheel provides an R grammar, so this module masks strings and comments and matches
brackets itself.

Functions have the form `name <- function(…)`. Inner functions belong to the enclosing function. S4, Reference and R6
classes contain their listed functions. `setMethod("name", …)` defines a function with that name."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from xkg.build.code.codebase import Module
from xkg.build.code.languages.definitions import Definition, Kind, line_breaks, source_symbols

SUFFIXES = frozenset(("r",))

_LONGEST_SIGNATURE = 400
_MASKED = re.compile(
    r"(?P<comment>\#[^\n]*)"
    r"|(?P<string>[rR]\"(?P<raw>-*)\((?:[^)]|\)(?!(?P=raw)\"))*+(?:\)(?P=raw)\"|\Z)|\"(?:\\.|[^\"\\])*+(?:\"|\Z)"
    r"|'(?:\\.|[^'\\])*+(?:'|\Z)|%[^%\n]*+%)",
    re.DOTALL,
)
_DEFINED = re.compile(
    r"(?P<name>(?<![\w.])[\w.]++|`[^`\n]++`|\"_*+\")\s*+(?:<<?-|:=|=(?!=))\s*+"
    r"(?:(?P<function>function\b|\\)|(?:R6::)?+(?:setClass|setRefClass|R6Class)\b)\s*+(?=\()"
    r"|(?<![\w.])(?P<call>setMethod|setReplaceMethod|setClass|setRefClass)\s*+(?=\(\s*+(?P<quoted>\"_*+\"))"
)
_ENDING = re.compile(r"[()\[\]{}\n,;]")


def outline_r(path: str, text: str, repository: str = "") -> Module:
    """Returns the module with its symbols in line order, in linear time. Does not raise errors for invalid text."""
    source = text.encode("utf-8", "surrogatepass")
    plain = source.decode("latin-1")  # one character per byte, to get byte offsets as in other languages
    masked = _MASKED.sub(_mask, plain)
    pairs, broken = _pairs(masked)
    definitions = [Definition("", "module", 0, len(source))]
    around: list[tuple[int, int]] = []  # the end of each enclosing class or function, and its definition
    for match in _DEFINED.finditer(masked):
        start, opening = match.span()
        while around and start >= around[-1][0]:
            around.pop()
        owner = around[-1][1] if around else 0
        last = pairs.get(opening)
        if last is None or definitions[owner].kind in ("function", "method"):
            continue
        is_function = match["function"] is not None or (match["call"] or "").endswith("Method")
        kind: Kind = "class" if not is_function else "method" if owner else "function"
        own = plain[slice(*match.span("name" if match["name"] else "quoted"))].strip("`\"'")
        name = f"{definitions[owner].name}.{_text(own)}" if owner else _text(own)
        comma = masked.find(",", opening, last)
        head = last + 1 if match["function"] or comma < 0 else comma
        signature = " ".join(_text(plain[start : min(head, start + _LONGEST_SIGNATURE)]).split())
        end = _end(masked, last + 1, pairs) if match["function"] else last + 1
        around.append((end, len(definitions)))
        definitions.append(Definition(name, kind, start, end, signature, parent=owner))
    comments = [match for match in _MASKED.finditer(plain) if match["comment"]]
    _document(plain, comments, definitions, line_breaks(source))
    return Module(
        path=path,
        text=text,
        language="r",
        dotted=path.rpartition(".")[0].replace("/", "."),
        symbols=source_symbols(path, repository, source, definitions),
        broken=broken,
    )


def _mask(match: re.Match[str]) -> str:
    """Replaces comments with spaces, and strings and operators with underscores."""
    return " " * len(match[0]) if match["comment"] else f'"{"_" * (len(match[0]) - 2)}"'


def _text(piece: str) -> str:
    return piece.encode("latin-1").decode("utf-8", "replace")


def _pairs(masked: str) -> tuple[dict[int, int], bool]:
    """Maps each opening bracket to its closing bracket. Also returns whether any bracket is unmatched."""
    pairs: dict[int, int] = {}
    waiting: list[int] = []
    broken = False
    for match in re.finditer(r"[()\[\]{}]", masked):
        if match[0] in "([{":
            waiting.append(match.start())
        elif waiting and masked[waiting[-1]] + match[0] in ("()", "[]", "{}"):
            pairs[waiting.pop()] = match.start()
        else:
            broken = True
    return pairs, broken or bool(waiting)


def _end(masked: str, at: int, pairs: Mapping[int, int]) -> int:
    """Returns the end of the block or expression that forms a function's body. The function's head ends at this
    offset."""
    while at < len(masked) and masked[at].isspace():
        at += 1
    if masked[at : at + 1] == "{":
        return pairs.get(at, at) + 1
    begin = at
    while match := _ENDING.search(masked, at):
        at = match.start()
        if at in pairs:
            at = pairs[at] + 1
        elif match[0] == "\n" and masked[begin:at].rstrip()[-1:] in set("+-*/^<>=!&|~?:"):
            begin = at = at + 1
        else:
            break
    else:
        at = len(masked)
    return begin + len(masked[begin:at].rstrip())


def _document(
    plain: str, comments: Sequence[re.Match[str]], definitions: Sequence[Definition], breaks: Sequence[int]
) -> None:
    """Attaches comments to the definitions directly below them."""
    starts = [0, *(offset + 1 for offset in breaks)]
    alone = {
        row: comment[0]
        for comment in comments
        if not plain[starts[row := bisect_left(breaks, comment.start())] : comment.start()].strip()
    }
    for definition in definitions[1:]:
        row, above = bisect_left(breaks, definition.start) - 1, list[str]()
        while (text := alone.pop(row, None)) is not None:
            above.append(_text(re.sub(r"^#+['*]?\s?", "", text)))
            row -= 1
        definition.docstring = "\n".join(reversed(above)).strip()
