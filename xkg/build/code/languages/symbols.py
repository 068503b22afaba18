"""Parses a file in a language other than Python into a `Module`, by the language's table in `grammars`.

One walk over the syntax tree, without recursion or queries, so its time is linear in the file for any depth (as in
`python`). Code around a syntax error is still read. Offsets are bytes, rows are 0-based. Inner functions are part of
the outer one, as for Python."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tree_sitter import Node

from xkg.build.code.codebase import Import, Module
from xkg.build.code.languages.definitions import Definition, Kind, line_breaks, source_symbols
from xkg.build.code.languages.grammars import Grammar, Shape, load
from xkg.build.code.languages.syntax_nodes import bound_names, name_parts, node_at, node_text, syntax_root

_LONGEST_SIGNATURE = 400
_LONGEST_IMPORT = 400  # bytes of a call that imports
_DEEPEST_SCOPE = 32  # definitions nested deeper, or with longer names, are part of the enclosing one
_LONGEST_NAME = 1_000
_LICENSE = re.compile(r"(?i)copyright|licen[sc]e|spdx|all rights reserved")
_MARK = re.compile(rb"\S")
_RULER = re.compile(r"^[\s=*/#~_+-]*$")
_DIRECTIVE = re.compile(r"^(eslint|prettier|tslint|@ts-|clang-format|NOLINT|istanbul|!)")
_COMMENT_MARKS = re.compile(r"^\s*(?:///?[!<]?|/\*[*!]?|\*/|\*|#=|=#|#+|%+)?|(?:\*/|=#)\s*$")


@dataclass(frozen=True)
class Reference:
    """The parts of a name that a body calls or uses. `member` means that the last part is a member of an object of
    unknown type: `x.f`, or `().f`, whose first part is then empty."""

    parts: tuple[str, ...]
    member: bool = False


@dataclass(frozen=True)
class Outline:
    """A file's `Module` without calls, with data for `call_graph`: references by symbol id, and the documentation of
    declarations (`void f();`) by qualified name."""

    module: Module
    family: str
    references: dict[str, tuple[Reference, ...]]
    announced: dict[str, str]


@dataclass
class _Definition(Definition):
    row: int = 0
    name_at: int = -1
    documentation: list[str] = field(default_factory=list)
    references: dict[Reference, None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Scope:
    """An enclosing scope of the walk: the `depth` of its node, the prefix of names inside, and its symbol."""

    depth: int
    prefix: str
    role: str
    definition: int


@dataclass(frozen=True)
class _Remark:
    """A comment, attribute or documentation string with its rows, and the enclosing symbol."""

    kind: Literal["comment", "attribute", "documentation"]
    start: int
    first: int
    last: int
    alone: bool
    text: str
    owner: int


def outline(path: str, text: str, grammars: Sequence[Grammar], repository: str = "") -> Outline:
    """The module with its symbols in line order, from the first grammar that reads all of it, otherwise from the first
    one. Never raises because of the text."""
    source = text.encode("utf-8", "surrogatepass")
    trees = ((g, _tree(source, g)) for g in grammars)
    first = grammar, root = next(trees)
    if root is None or root.has_error:
        grammar, root = next(((g, r) for g, r in trees if r is not None and not r.has_error), first)
    walk = _Walk(grammar, source)
    if root is not None:
        walk.run(root)
    return _assemble(path, text, repository, walk, broken=root is None or root.has_error)


def _tree(source: bytes, grammar: Grammar) -> Node | None:
    read = source if grammar.blanked is None else grammar.blanked.sub(_blank, source)
    return syntax_root(load(grammar.module, grammar.function), read)


def _blank(match: re.Match[bytes]) -> bytes:
    start, end = match.start("blank") - match.start(), match.end("blank") - match.start()
    return match[0][:start] + b" " * (end - start) + match[0][end:]


class _Walk:
    """The state of one walk. `definitions[0]` is the file itself."""

    def __init__(self, grammar: Grammar, source: bytes) -> None:
        self.grammar, self.source = grammar, source
        self._breaks = line_breaks(source)
        self._begin: tuple[int, int] = (-1, 0)  # a row, and the column of its first mark
        self.definitions = [_Definition("", "module", 0, len(source))]
        self.prototypes: list[_Definition] = []
        self.imports: list[Import] = []
        self.remarks: list[_Remark] = []
        self.namespaces: set[str] = set()
        self.scopes = [_Scope(-1, "", "module", 0)]
        self.above: list[tuple[str, int]] = []
        self.done_until = 0  # the last start or end of a definition or scope: no wrapper extends back over it

    def run(self, root: Node) -> None:
        cursor = root.walk()
        while True:
            node = cursor.node
            if node is not None and node.is_named:
                self._visit(node)
            if cursor.goto_first_child():
                self.above.append(("", 0) if node is None else (node.type, node.start_byte))
                continue
            while True:
                while self.scopes[-1].depth >= len(self.above):
                    self._leave()
                if cursor.goto_next_sibling():
                    break
                if not cursor.goto_parent():
                    return
                self.above.pop()

    def _leave(self) -> None:
        scope = self.scopes.pop()
        if self.scopes and scope.definition != self.scopes[-1].definition:
            self.done_until = max(self.done_until, self.definitions[scope.definition].end)

    def _visit(self, node: Node) -> None:
        kind, grammar = node.type, self.grammar
        if kind in grammar.comments:
            self._remark("comment", node)
            return
        if kind in grammar.attributes:
            self._remark("attribute", node)
        elif kind in grammar.documentation:
            self._remark("documentation", node)
        if kind in grammar.definitions and self.scopes[-1].role != "function":
            self._define(node, grammar.definitions[kind])
        if kind in grammar.calls:
            self._call(node, grammar.calls[kind])
        elif kind in grammar.uses:
            self._refer(node)
        if kind in grammar.imports:
            self._import(node, grammar.imports[kind])

    # --- definitions --------------------------------------------------------------------------------------------------

    def _define(self, node: Node, shapes: tuple[Shape, ...]) -> None:
        above = self.above[-1][0] if self.above else ""
        for shape in shapes:
            if above in shape.not_in:
                continue
            if shape.where is not None:
                at = node_at(node, shape.where[0])
                if at is None or (shape.where[1] is not None and at.type not in shape.where[1]):
                    continue
            name = node_at(node, shape.name)
            parts, kinds = name_parts(name, self.grammar, self.source) if name is not None else ((), ())
            if shape.through is not None and shape.through not in kinds:
                continue
            if shape.only is not None and not (parts and shape.only.fullmatch(parts[-1])):
                continue
            self._add(node, shape, name, parts)
            return

    def _add(self, node: Node, shape: Shape, name: Node | None, raw: tuple[str, ...]) -> None:
        scope = self.scopes[-1]
        parts = tuple(p for p in raw if p not in self.grammar.dropped) or raw[-1:]
        own = ".".join(p for p in parts if p not in self.grammar.own)
        if len(self.scopes) > _DEEPEST_SCOPE or len(scope.prefix) + len(own) > _LONGEST_NAME:
            return
        full = ".".join(p for p in (scope.prefix, own) if p)
        depth = len(self.above)
        if shape.role in ("scope", "type-scope"):
            self.namespaces.add(full)
            self.scopes.append(_Scope(depth, full, shape.role if own else "scope", scope.definition))
            self.done_until = max(self.done_until, node.start_byte)
            return
        if not own or "" in raw:
            return
        start = self._start(node)
        kind: Kind = "function"
        if shape.role in ("class", "constant"):
            kind = "class" if shape.role == "class" else "constant"
        elif scope.role in ("class", "type-scope") or self._is_member(raw, full):
            kind = "method"
        definition = _Definition(full, kind, start, node.end_byte, self._signature(node, shape), row=self.row(start))
        if shape.role == "prototype":
            self.prototypes.append(definition)
            return
        definition.name_at = name.start_byte if name is not None else -1
        definition.parent = scope.definition
        self.definitions.append(definition)
        if kind == "constant":
            self.done_until = node.end_byte
            return
        self.scopes.append(_Scope(depth, full, "class" if kind == "class" else "function", len(self.definitions) - 1))
        self.done_until = max(self.done_until, node.start_byte)

    def _is_member(self, raw: tuple[str, ...], full: str) -> bool:
        """Whether a name with its owner as prefix (`Type::f`) is a method's."""
        if "prototype" in raw:
            return True
        return self.grammar.family in ("c", "go") and len(raw) > 1 and full.rpartition(".")[0] not in self.namespaces

    def _start(self, node: Node) -> int:
        start = node.start_byte
        for kind, at in reversed(self.above):
            if kind not in self.grammar.wrappers or at < self.done_until:
                break
            start = at
        return start

    def _signature(self, node: Node, shape: Shape) -> str:
        end = node.end_byte
        if shape.head is not None:
            head = node_at(node, shape.head)
            end = head.end_byte if head is not None else end
        elif shape.body:
            body = node_at(node, shape.body)
            end = body.start_byte if body is not None else end
        text = self.source[node.start_byte : min(end, node.start_byte + 4 * _LONGEST_SIGNATURE)]
        line = " ".join(text.decode("utf-8", "replace").split()).rstrip("{;= ")
        return line if len(line) <= _LONGEST_SIGNATURE else line[: _LONGEST_SIGNATURE - 1] + "…"

    def row(self, offset: int) -> int:
        """The row of a byte."""
        return bisect_left(self._breaks, offset)

    # --- references, imports, remarks ---------------------------------------------------------------------------------

    def _call(self, node: Node, path: str) -> None:
        called = node_at(node, path)
        if called is None:
            return
        if called.type in self.grammar.importing_calls or (
            called.child_count == 0 and node_text(called, self.source) in self.grammar.importing_calls
        ):
            self._import_call(node)
        elif called.start_byte != self.definitions[self.scopes[-1].definition].name_at:
            self._refer(called)

    def _refer(self, node: Node) -> None:
        parts, kinds = name_parts(node, self.grammar, self.source)
        if not parts or not parts[-1]:
            return
        if parts[0] in self.grammar.own and len(parts) == 2:
            reference = Reference(parts)
        else:
            member = not self.grammar.members.isdisjoint(kinds)
            reference = Reference(("", parts[-1]) if "" in parts else parts, member)
        self.definitions[self.scopes[-1].definition].references[reference] = None

    def _import(self, node: Node, path: str) -> None:
        at = node_at(node, path)
        if at is None or (node.type == "mod_item" and node.child_by_field_name("body") is not None):
            return
        module = re.sub(r"^(?:using|import)\s+", "", " ".join(node_text(at, self.source).split())).strip("\"'<>`")
        bound = list(bound_names(node, self.source)) if node.type == "import_statement" else []
        line = node.start_point[0] + 1
        for name, attribute in bound or [(re.split(r"::|[/,:\s]", module)[-1] or module, None)]:
            self.imports.append(Import(name=name, module=module, attribute=attribute, line=line))

    def _import_call(self, node: Node) -> None:
        text = self.source[node.start_byte : min(node.end_byte, node.start_byte + _LONGEST_IMPORT)]
        match = re.search(r"""\(\s*["'`]([^"'`\n]{1,300})["'`]\s*\)\s*$""", text.decode("utf-8", "replace"))
        if match:
            name = match[1].rpartition("/")[2]
            self.imports.append(Import(name=name, module=match[1], attribute=None, line=node.start_point[0] + 1))

    def _remark(self, kind: Literal["comment", "attribute", "documentation"], node: Node) -> None:
        end_row, end_column = node.end_point
        first = node.start_point[0]
        if self._begin[0] != first:  # once per row: one row may have many comments
            mark = _MARK.search(self.source, self._breaks[first - 1] + 1 if first else 0)
            self._begin = first, mark.start() if mark else len(self.source)
        self.remarks.append(
            _Remark(
                kind,
                node.start_byte,
                first,
                end_row if end_column or end_row == first else end_row - 1,  # some comments include their line end
                self._begin[1] >= node.start_byte,
                "" if kind == "attribute" else _plain(node_text(node, self.source), kind == "comment"),
                self.scopes[-1].definition,
            )
        )


def _plain(text: str, comment: bool) -> str:
    """The text of a comment, without comment marks and rulers."""
    lines = text.strip().strip('"').split("\n")
    if comment:
        lines = [_COMMENT_MARKS.sub("", _COMMENT_MARKS.sub("", line.rstrip())).strip() for line in lines]
    plain = [line.strip() for line in lines if not _RULER.match(line) and not _DIRECTIVE.match(line.strip())]
    return "\n".join(plain)


# --- assembly ---------------------------------------------------------------------------------------------------------


def _attach(walk: _Walk) -> None:
    """Adds remarks directly above a definition to it (an attribute starts it), and other comments to the enclosing
    symbol."""
    by_last = {remark.last: i for i, remark in enumerate(walk.remarks) if remark.alone}
    claimed: set[int] = set()
    for definition in sorted((*walk.definitions[1:], *walk.prototypes), key=lambda d: (d.start, -d.end)):
        row, above = definition.row, []
        i = by_last.get(row)
        if i is not None and walk.remarks[i].kind == "attribute" and walk.remarks[i].start < definition.start:
            claimed.add(i)
            definition.start, row = walk.remarks[i].start, walk.remarks[i].first
        while (i := by_last.get(row - 1)) is not None and i not in claimed:
            remark = walk.remarks[i]
            claimed.add(i)
            row = remark.first
            if remark.kind == "attribute":
                definition.start = min(definition.start, remark.start)
            else:
                above.append(remark.text)
        definition.documentation = [text for text in reversed(above) if text and not _LICENSE.search(text)]
    last = -2
    for i, remark in enumerate(walk.remarks):
        if i in claimed or remark.kind == "attribute" or not remark.text or _LICENSE.search(remark.text):
            continue
        owner = walk.definitions[remark.owner]
        if remark.owner == 0 and remark.alone and (remark.first == last + 1 or (last < 0 and remark.first <= 2)):
            owner.documentation.append(remark.text)
            last = remark.last
        elif remark.kind == "comment":
            owner.comments.append(remark.text)


def _assemble(path: str, text: str, repository: str, walk: _Walk, *, broken: bool) -> Outline:
    _attach(walk)
    definitions = [walk.definitions[0], *sorted(walk.definitions[1:], key=lambda d: (d.start, -d.end))]
    place = {id(definition): i for i, definition in enumerate(definitions)}
    for definition in reversed(walk.definitions[1:]):  # inner definitions come after the enclosing one
        if definition.parent:
            walk.definitions[definition.parent].references |= definition.references
    classes: dict[str, int] = {}
    for i, definition in enumerate(definitions):
        if definition.kind == "class":
            classes.setdefault(definition.name, i)
    parents = []
    for i, definition in enumerate(definitions):
        definition.docstring = "\n".join(definition.documentation).strip()
        above = classes.get(definition.name.rpartition(".")[0], place[id(walk.definitions[definition.parent or 0])])
        parents.append(above if above != i else 0)
    for definition, parent in zip(definitions[1:], parents[1:], strict=True):
        definition.parent = parent
    names = [[r.parts[0] or r.parts[-1] for r in definition.references] for definition in definitions]
    symbols = source_symbols(path, repository, walk.source, definitions, names)
    module = Module(
        path=path,
        text=text,
        language=walk.grammar.language,
        dotted=path.rpartition(".")[0].replace("/", "."),
        imports=tuple(walk.imports),
        symbols=symbols,
        broken=broken,
    )
    return Outline(
        module=module,
        family=walk.grammar.family,
        references={s.symbol.id: tuple(d.references) for s, d in zip(symbols, definitions, strict=True)},
        announced={p.name: "\n".join(p.documentation) for p in walk.prototypes if p.documentation},
    )
