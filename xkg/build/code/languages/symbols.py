"""Parses a file in a language other than Python into a `Module`, using the language's query from `grammars`.

Still parses the code around syntax errors. Offsets are in bytes, and rows are 0-based. Inner functions belong to the
enclosing function, as in Python."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from xkg.build.code.codebase import Module
from xkg.build.code.languages.definitions import Definition, Kind, line_breaks, source_symbols
from xkg.build.code.languages.grammars import Grammar, load
from xkg.build.code.languages.syntax_nodes import matches, node_text, syntax_root

_LONGEST_SIGNATURE = 400
_DEEPEST_SCOPE = 32  # more deeply nested definitions are part of the enclosing definition
_LONGEST_NAME = 1_000
_LICENSE = re.compile(r"(?i)copyright|licen[sc]e|spdx|all rights reserved")
_RULER = re.compile(r"^[\s=*/#~_+-]*$")
_DIRECTIVE = re.compile(r"^(eslint|prettier|tslint|@ts-|clang-format|NOLINT|istanbul|!)")
_COMMENT_MARKS = re.compile(r"^\s*(?:///?[!<]?|/\*[*!]?|\*/|\*|#=|#=|#+|%+)?|(?:\*/|=#)\s*$")
_UPPER = re.compile(r"[A-Z][A-Z0-9_]+")
# Matches a name without its arguments, base or type parameters. In Julia, `(w::Walk)(x)` makes `Walk` objects callable.
_NAME = re.compile(r"(?:\(\w*::([\w.]+)|[*&]*([\w.~@!$#:\\]+|[^\w\s(]+)(?=[({\s]|$))")
_GENERIC = re.compile(r"<[^<>]*>")
_DEEPEST_GENERIC = 5
_OPERATOR = re.compile(r"(.*?)\b(operator\b.*)")
_SEPARATOR = re.compile(r"::|[.\\]")
_OBJECTS = frozenset("prototype exports module window globalThis this self".split())


@dataclass
class _Definition(Definition):
    documentation: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Remark:
    """A comment, attribute or documentation string, with its rows and the enclosing symbol. `alone` is True if nothing
    precedes it on the same row."""

    kind: str
    start: int
    first: int
    last: int
    alone: bool
    text: str
    owner: int


def outline(path: str, text: str, grammars: Sequence[Grammar], repository: str = "") -> Module:
    """Returns the module with its symbols in line order. Uses the first grammar that parses the whole text. If there is
    none, uses the first of `grammars`. Does not raise errors for invalid text."""
    source = text.encode("utf-8", "surrogatepass")
    trees = ((g, _tree(source, g)) for g in grammars)
    first = grammar, root = next(trees)
    if root is None or root.has_error:
        grammar, root = next(((g, r) for g, r in trees if r is not None and not r.has_error), first)
    file = _File(source)
    if root is not None:
        file.read(matches(load(grammar)[1], root))
    definitions = file.documented()
    return Module(
        path=path,
        text=text,
        language=grammar.language,
        dotted=path.rpartition(".")[0].replace("/", "."),
        symbols=source_symbols(path, repository, source, definitions),
        broken=root is None or root.has_error,
    )


def _tree(source: bytes, grammar: Grammar) -> Node | None:
    read = source if grammar.blanked is None else grammar.blanked.sub(_blank, source)
    return syntax_root(load(grammar)[0], read)


def _blank(match: re.Match[bytes]) -> bytes:
    start, end = match.start("blank") - match.start(), match.end("blank") - match.start()
    return match[0][:start] + b" " * (end - start) + match[0][end:]


class _File:
    """The definitions and remarks in a file. `definitions[0]` is the file itself."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._breaks = line_breaks(source)
        self.definitions = [_Definition("", "module", 0, len(source))]
        self.remarks: list[_Remark] = []
        self._classes: dict[str, int] = {}

    def read(self, found: Iterable[dict[str, Node]]) -> None:
        # Each enclosing scope is stored as its end, kind, name prefix, definition and body start.
        around: list[tuple[int, str, str, int, int | None]] = [(len(self.source) + 1, "module", "", 0, None)]
        wrappers: list[Node] = []
        taken = -1
        for captures in sorted(found, key=_place):
            kind, node = next(iter(captures.items()))
            while node.start_byte >= around[-1][0]:
                around.pop()
            if kind in ("comment", "attribute", "documentation"):
                self._remark(kind, node, around[-1][3])
                continue
            if kind == "wrapper":
                wrappers = [*(w for w in wrappers if w.end_byte >= node.end_byte), node][-_DEEPEST_SCOPE:]
                continue
            _, outer, prefix, owner, outer_body = around[-1]
            body = captures["body"].start_byte if "body" in captures else None
            parts = self._parts(captures)
            name = ".".join((*([prefix] if prefix else ()), *parts))
            is_known = node.start_byte == taken or (body is not None and body == outer_body)
            is_deep = len(around) > _DEEPEST_SCOPE or len(name) > _LONGEST_NAME
            if is_known or is_deep or outer == "function" or not parts:
                continue
            if kind == "constant" and not _UPPER.fullmatch(parts[-1]):
                continue
            taken = node.start_byte
            start = next((w.start_byte for w in wrappers if self._is_around(w, node)), node.start_byte)
            wrappers = []
            if kind in ("scope", "members"):
                around.append((node.end_byte, kind, name, owner, body))
                continue
            self.definitions.append(
                _Definition(name, self._kind(kind, outer, captures, name), start, node.end_byte, parent=owner)
            )
            self.definitions[-1].signature = self._signature(node, captures)
            if kind != "constant":
                inner = "class" if kind == "class" else "function"
                if kind == "class":
                    self._classes.setdefault(name, len(self.definitions) - 1)
                around.append((node.end_byte, inner, name, len(self.definitions) - 1, body))

    def _is_around(self, wrapper: Node, node: Node) -> bool:
        """Returns whether a wrapper ends directly after a node or after the semicolon that follows the node."""
        rest = self.source[node.end_byte : wrapper.end_byte]
        return wrapper.end_byte >= node.end_byte and len(rest) < _LONGEST_SIGNATURE and not rest.strip(b"; \t\r\n")

    def _kind(self, kind: str, outer: str, captures: dict[str, Node], name: str) -> Kind:
        if kind in ("class", "constant"):
            return "class" if kind == "class" else "constant"
        is_inside = outer in ("class", "members") or name.rpartition(".")[0] in self._classes
        is_qualified = kind == "method" or "::" in node_text(captures["name"], self.source).partition("(")[0]
        return "method" if is_inside or is_qualified else "function"

    def _parts(self, captures: dict[str, Node]) -> list[str]:
        """Returns the parts of a definition's name, including the owner's name. Returns an empty list if the definition
        has no plain name."""
        parts: list[str] = []
        for node in (captures.get("owner"), captures["name"]):
            text = node_text(node, self.source).strip() if node is not None else ""
            operator = _OPERATOR.fullmatch(" ".join(text.split()))
            plain = operator[1] if operator else text
            for _ in range(_DEEPEST_GENERIC):
                plain = _GENERIC.sub("", plain)
            match = _NAME.match("::".join(part.strip() for part in plain.split("::")))
            plain = match[1] or match[2] if match else ""
            parts += [part for part in _SEPARATOR.split(plain) if part and part not in _OBJECTS]
            parts += [operator[2].replace(" ", "").replace(".", "")] if operator else []
        return parts

    def _signature(self, node: Node, captures: dict[str, Node]) -> str:
        body, head = captures.get("body"), captures.get("head")
        end = head.end_byte if head is not None else body.start_byte if body is not None else node.end_byte
        text = self.source[node.start_byte : min(end, node.start_byte + 4 * _LONGEST_SIGNATURE)]
        line = " ".join(text.decode("utf-8", "replace").split()).rstrip("{;= ")
        return line if len(line) <= _LONGEST_SIGNATURE else line[: _LONGEST_SIGNATURE - 1] + "…"

    def _remark(self, kind: str, node: Node, owner: int) -> None:
        (first, _), (end_row, end_column) = node.start_point, node.end_point
        begin = self._breaks[first - 1] + 1 if first else 0
        alone = node.start_byte - begin < _LONGEST_NAME and not self.source[begin : node.start_byte].strip()
        last = end_row if end_column or end_row == first else end_row - 1  # some comments include the final newline
        text = "" if kind == "attribute" else _plain(node_text(node, self.source), kind == "comment")
        self.remarks.append(_Remark(kind, node.start_byte, first, last, alone, text, owner))

    def documented(self) -> list[_Definition]:
        """Returns the definitions ordered by their start. Remarks directly above a definition belong to it, and
        attributes above it extend its range upwards. Other comments belong to the enclosing definition."""
        by_last = {remark.last: remark for remark in self.remarks if remark.alone}
        claimed: set[int] = set()
        for definition in self.definitions[1:]:
            row = bisect_left(self._breaks, definition.start)
            here = by_last.get(row)
            if here is not None and here.kind == "attribute" and here.start < definition.start:
                claimed.add(here.start)
                definition.start, row = here.start, here.first
            above: list[str] = []
            while (remark := by_last.get(row - 1)) is not None and remark.start not in claimed:
                claimed.add(remark.start)
                row = remark.first
                if remark.kind == "attribute":
                    definition.start = min(definition.start, remark.start)
                else:
                    above.append(remark.text)
            definition.documentation = [text for text in reversed(above) if text and not _LICENSE.search(text)]
        last = -2
        for remark in self.remarks:
            if remark.start in claimed or not remark.text or _LICENSE.search(remark.text):
                continue
            owner = self.definitions[remark.owner]
            if remark.owner == 0 and remark.alone and (remark.first == last + 1 or (last < 0 and remark.first <= 2)):
                owner.documentation.append(remark.text)
                last = remark.last
            elif remark.kind == "comment":
                owner.comments.append(remark.text)
        for i, definition in enumerate(self.definitions):
            definition.docstring = "\n".join(definition.documentation).strip()
            # If a method is defined outside its class, its parent is the class. Otherwise, the parent is the enclosing
            # scope.
            parent = self._classes.get(definition.name.rpartition(".")[0], definition.parent)
            definition.parent = parent if parent != i else 0
        return self.definitions


def _place(captures: dict[str, Node]) -> tuple[int, int]:
    node = next(iter(captures.values()))
    return node.start_byte, -node.end_byte


def _plain(text: str, comment: bool) -> str:
    """Strips comment markers and decorative lines."""
    lines = text.strip().strip('"').split("\n")
    if comment:
        lines = [_COMMENT_MARKS.sub("", _COMMENT_MARKS.sub("", line.rstrip())).strip() for line in lines]
    plain = [line.strip() for line in lines if not _RULER.match(line) and not _DIRECTIVE.match(line.strip())]
    return "\n".join(plain)
