"""Parses Python source into a `Module` with tree-sitter, which can also parse large parts of Python 2 and truncated
files.

A first walk visits only statements that contain definitions and finds the structure. A second walk visits the whole
tree and finds the names. Both walks are iterative and take linear time. Queries and `Node.parent` would be slower on
deep trees. Offsets are in bytes, and lines are 1-based."""

import ast
import inspect
import re
import symtable
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from xkg.build.code.codebase import Import, Module
from xkg.build.code.languages.cython import SUFFIXES as CYTHON
from xkg.build.code.languages.cython import as_python
from xkg.build.code.languages.definitions import Definition, Kind, line_breaks, source_symbols
from xkg.build.code.languages.syntax_nodes import node_text, syntax_root
from xkg.sandbox.evidence.python_ast import silently, syntax_tree

# In these positions (parent node type, field), an identifier is not a name that the scope binds or uses.
_NO_NAMES = {
    ("attribute", "attribute"), ("keyword_argument", "name"), ("keyword_pattern", None), ("nonlocal_statement", None),
    ("global_statement", None), ("function_definition", "name"), ("class_definition", "name"), ("parameters", None),
    ("lambda_parameters", None), ("default_parameter", "name"), ("typed_parameter", None),
    ("typed_default_parameter", "name"),
}  # fmt: skip
_IMPORTS = {"import_statement", "import_from_statement", "future_import_statement"}

_HOLDS_STATEMENTS = {
    "module", "block", "if_statement", "elif_clause", "else_clause", "try_statement", "except_clause",
    "except_group_clause", "finally_clause", "with_statement", "for_statement", "while_statement", "ERROR",
}  # fmt: skip
_ANONYMOUS = frozenset(("lambda", "listcomp", "setcomp", "dictcomp", "genexpr"))  # scopes without a definition
_LONGEST_CONSTANT = 200
_LONGEST_CHAIN = 200  # bytes; a line of 100,000 dots is not a name
_DOTTED = re.compile(rb"[\w.\x80-\xff]+")
_COMMENT_MARKS = re.compile(r"^(?:#+|[rRuUbBfF]{0,2}(?:\"{3}|'{3}|[\"']))|(?:\"{3}|'{3}|[\"'])$")
# Longer string statements are probably disabled code.
_LONGEST_REMARK = 400
_NOT_COMMENTS = re.compile(r"^(!|-\*-|\s*(type:\s*ignore|noqa|pragma:|pylint:|fmt:|isort:|flake8|coding[:=]))")


@dataclass
class _Definition(Definition):
    guarded: bool = False


@dataclass(frozen=True)
class Analysis:
    """A file's `Module`, plus the data needed to resolve imports. `uses` contains the file's dotted names (`a.b.c`)
    that begin with a free variable. `assigned` contains all names assigned at the top level, including names that are
    not symbols."""

    module: Module
    uses: frozenset[str]
    assigned: frozenset[str]


def analyse(path: str, text: str, repository: str = "", wanted: frozenset[str] = frozenset()) -> Analysis:
    """Returns the module with its symbols in line order. Does not resolve imports. Does not raise errors for invalid
    text.

    `broken` is True if the grammar found errors or if this Python cannot parse the text. Cython errors do not count.
    Module-level assignments in `wanted` also become constants, because other files use them."""
    source = text.encode("utf-8", "surrogatepass")
    root = syntax_root(language(), as_python(source) if _is_cython(path) else source)
    complete = root is not None
    root = root or _nothing()
    leaves = _leaves(root)
    definitions = _definitions(root, source)
    imports = [i for node in leaves["import"] for i in _imports(node, source)]
    uses, inside = _free_names(text, leaves, source)
    _attach_comments(definitions, leaves["comment"], source)
    module = Module(
        path=path,
        text=text,
        language="cython" if _is_cython(path) else "python",
        imports=tuple(imports),
        symbols=source_symbols(path, repository, source, _worth_keeping(definitions, inside | wanted)),
        broken=not complete or (not _is_cython(path) and (root.has_error or parse_ast(text) is None)),
    )
    return Analysis(module, uses, frozenset(d.name for d in definitions if d.kind == "constant"))


def _is_cython(path: str) -> bool:
    return path.rpartition(".")[2].lower() in CYTHON


@cache
def language() -> Language:
    """Returns the Python 3 grammar, which also parses Python 2 statements."""
    return Language(tree_sitter_python.language())


def _nothing() -> Node:
    return Parser(language()).parse(b"").root_node


def parse_ast(text: str) -> ast.Module | None:
    """Returns the syntax tree, or None if the running Python cannot parse the text."""
    try:
        return syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


# --- structure --------------------------------------------------------------------------------------------------------


def _definitions(root: Node, source: bytes) -> list[_Definition]:
    """Returns the module, its classes, functions, methods and assigned names, ordered by their start. Includes inner
    functions."""
    module = _Definition("", "module", 0, len(source), docstring=_docstring(root, source))
    definitions = [module]
    stack: list[tuple[Node, int, bool]] = [(root, 0, False)]
    while stack:
        node, parent, guarded = stack.pop()
        inner: list[tuple[Node, int, bool]] = []
        for child in node.named_children:
            definition = child.child_by_field_name("definition") if child.type == "decorated_definition" else child
            kind = definition.type if definition is not None else ""
            if definition is not None and kind in ("function_definition", "class_definition"):
                index = len(definitions)
                body = definition.child_by_field_name("body")
                definitions.append(_definition(definition, child, body, definitions, parent, guarded, source))
                if body is not None:
                    inner.append((body, index, guarded))
            elif kind in _HOLDS_STATEMENTS:
                inner.append((child, parent, guarded or _is_main_guard(child, source)))
            elif kind == "expression_statement" and parent == 0:
                definitions += _constants(child, guarded, source)
        stack.extend(reversed(inner))
    order = sorted(range(len(definitions)), key=lambda i: (definitions[i].start, -definitions[i].end))
    place = {old: new for new, old in enumerate(order)}
    for each in definitions:
        each.parent = None if each.parent is None else place[each.parent]
    return [definitions[i] for i in order]


def _definition(
    node: Node,
    outer: Node,
    body: Node | None,
    definitions: list[_Definition],
    parent: int,
    guarded: bool,
    source: bytes,
) -> _Definition:
    name = node.child_by_field_name("name")
    above = definitions[parent]
    own = node_text(name, source) if name else ""
    kind: Kind = "class" if node.type == "class_definition" else "method" if above.kind == "class" else "function"
    head_end = body.start_byte if body else node.end_byte
    head = re.sub(rb"#[^\n]*", b"", source[node.start_byte : head_end]) if body else source[node.start_byte : head_end]
    return _Definition(
        name=f"{above.name}.{own}" if above.name else own,
        kind=kind,
        start=outer.start_byte,
        end=node.end_byte,
        signature=" ".join(head.decode("utf-8", "replace").split()).removesuffix(":").rstrip(),
        docstring=_docstring(body, source) if body else "",
        parent=parent,
        guarded=guarded,
    )


def _constants(statement: Node, guarded: bool, source: bytes) -> Iterator[_Definition]:
    last = next(iter(statement.named_children), None)
    signature = ""
    while last is not None and last.type == "assignment" and last.child_by_field_name("right") is not None:
        left = last.child_by_field_name("left")
        targets = [] if left is None else [left] if left.type == "identifier" else left.named_children
        for target in targets:
            if target.type == "identifier" and left is not None and left.type not in ("attribute", "subscript"):
                signature = signature or _cut(" ".join(node_text(statement, source).split()))
                yield _Definition(
                    node_text(target, source),
                    "constant",
                    statement.start_byte,
                    statement.end_byte,
                    signature,
                    parent=0,
                    guarded=guarded,
                )
        last = last.child_by_field_name("right")


def _cut(signature: str) -> str:
    return signature if len(signature) <= _LONGEST_CONSTANT else signature[: _LONGEST_CONSTANT - 1] + "…"


def _is_main_guard(node: Node, source: bytes) -> bool:
    condition = node.child_by_field_name("condition") if node.type == "if_statement" else None
    text = node_text(condition, source) if condition is not None else ""
    return "__name__" in text and "__main__" in text


def _docstring(body: Node, source: bytes) -> str:
    first = next((c for c in body.named_children if c.type != "comment"), None)
    inner = first.named_children[0] if first is not None and first.type == "expression_statement" else None
    if inner is None or inner.type != "string":
        return ""
    return inspect.cleandoc("".join(node_text(c, source) for c in inner.named_children if c.type == "string_content"))


# --- names ------------------------------------------------------------------------------------------------------------


def _leaves(root: Node) -> dict[str, list[Node]]:
    """Groups nodes by role, in source order: `use` (identifiers), `chain` (attribute access), `comment` and
    `import`."""
    leaves: dict[str, list[Node]] = {kind: [] for kind in ("use", "chain", "comment", "import")}
    cursor = root.walk()
    above: list[str] = []
    while True:
        node = cursor.node
        kind = node.type if node is not None else ""
        if node is None:
            pass
        elif kind == "identifier":
            if (above[-1] if above else "", cursor.field_name) not in _NO_NAMES:
                leaves["use"].append(node)
        elif kind == "attribute":
            leaves["chain"].append(node)
        elif kind == "comment" or (kind == "string" and above[-1:] == ["expression_statement"] and _remarks(node)):
            leaves["comment"].append(node)
        elif kind in _IMPORTS:
            leaves["import"].append(node)
        if kind not in _IMPORTS and cursor.goto_first_child():
            above.append(kind)
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return leaves
            above.pop()


def _remarks(string: Node) -> bool:
    """Returns whether a string statement serves as a comment: it is short and not a docstring."""
    statement = string.parent
    before = statement.prev_named_sibling if statement is not None else None
    while before is not None and before.type == "comment":
        before = before.prev_named_sibling
    return before is not None and string.end_byte - string.start_byte <= _LONGEST_REMARK


def identifier_paths(expression: bytes) -> list[tuple[int, int, tuple[str, ...]]]:
    """Returns the dotted names in an expression's f-strings, as (start, end, path)."""
    prefix, paths = b"(", []
    source = prefix + expression + b")"
    leaves = _leaves(syntax_root(language(), source) or _nothing())
    ends = _chain_ends(leaves["chain"], source)
    for node in leaves["use"]:
        start, end = node.start_byte - len(prefix), ends.get(node.start_byte, node.end_byte) - len(prefix)
        paths.append((start, end, tuple(expression[start:end].decode("utf-8", "replace").split("."))))
    return paths


def _chain_ends(chains: Iterable[Node], source: bytes) -> dict[int, int]:
    """Maps the start of each maximal dotted name to the end of that name."""
    ends: dict[int, int] = {}
    for node in chains:
        start, end = node.start_byte, node.end_byte
        if ends.get(start, 0) < end <= start + _LONGEST_CHAIN and _DOTTED.fullmatch(source, start, end):
            ends[start] = end
    return ends


def _imports(node: Node, source: bytes) -> Iterator[Import]:
    line = node.start_point[0] + 1
    names = node.children_by_field_name("name")
    if node.type == "import_statement":
        for name in names:
            dotted, alias = name.child_by_field_name("name"), name.child_by_field_name("alias")
            if dotted is not None and alias is not None:
                yield Import(name=node_text(alias, source), module=node_text(dotted, source), attribute=None, line=line)
            else:
                yield Import(
                    name=node_text(name, source).split(".")[0],
                    module=node_text(name, source),
                    attribute=None,
                    line=line,
                )
        return
    origin = node.child_by_field_name("module_name")
    module = "__future__" if origin is None else "".join(node_text(origin, source).split())
    for name in names:
        dotted, alias = name.child_by_field_name("name"), name.child_by_field_name("alias")
        attribute = node_text(dotted, source) if dotted is not None else node_text(name, source)
        yield Import(
            name=node_text(alias, source) if alias is not None else attribute,
            module=module,
            attribute=attribute,
            line=line,
        )
    if any(c.type == "wildcard_import" for c in node.children):
        yield Import(name="*", module=module, attribute="*", line=line)


class _Owners:
    """Finds the innermost module, class, function or method around a given byte."""

    def __init__(self, definitions: list[_Definition]) -> None:
        self.definitions = definitions
        self.scopes = [i for i, d in enumerate(definitions) if d.kind != "constant"]
        self.starts = [definitions[i].start for i in self.scopes]

    def __call__(self, at: int) -> int:
        index = self.scopes[max(bisect_right(self.starts, at) - 1, 0)]
        while at >= self.definitions[index].end and (parent := self.definitions[index].parent) is not None:
            index = parent
        return index


def _free_names(text: str, leaves: dict[str, list[Node]], source: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the file's dotted names that begin with a global name, and the first parts of the names used in functions
    and classes. If Python cannot parse the text, every name counts as global."""
    chains = _chain_ends(leaves["chain"], source)
    starts = {node.start_byte: chains.get(node.start_byte, node.end_byte) for node in leaves["use"]}
    names = {source[start:end].decode("utf-8", "replace") for start, end in starts.items()}
    try:
        with silently():
            module = symtable.symtable(text, "module", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(names), frozenset()
    found = {symbol.get_name() for symbol in module.get_symbols() if symbol.is_referenced()}
    inside: set[str] = set()
    waiting = [(table, False) for table in module.get_children()]
    while waiting:
        table, is_inside = waiting.pop()
        is_inside = is_inside or table.get_name() not in _ANONYMOUS
        waiting += [(inner, is_inside) for inner in table.get_children()]
        used = {each.get_name() for each in table.get_symbols() if each.is_global() and each.is_referenced()}
        found |= used
        inside |= used if is_inside else set()
    return frozenset(name for name in names if name.partition(".")[0] in found), frozenset(inside)


def _attach_comments(definitions: list[_Definition], comments: list[Node], source: bytes) -> None:
    """Adds each comment to the enclosing symbol. Comment lines directly above a symbol belong to that symbol."""
    owner = _Owners(definitions)
    first_lines: dict[int, int] = {}
    breaks = line_breaks(source)
    for index, definition in enumerate(definitions[1:], start=1):
        first_lines.setdefault(bisect_left(breaks, definition.start), index)
    waiting: list[tuple[int, str]] = []
    for node in sorted(comments, key=lambda n: n.start_byte):
        row = node.start_point[0]
        text = _COMMENT_MARKS.sub("", node_text(node, source)).strip()
        alone = not source[source.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte].strip()
        if waiting and waiting[-1][0] != row - 1:
            waiting = []
        if not text or _NOT_COMMENTS.match(text):
            continue
        index = owner(node.start_byte)
        definitions[index].comments.append(text)
        if alone:
            waiting.append((row, text))
            if (below := first_lines.get(row + 1)) is not None:
                block = [line for _, line in waiting]
                definitions[index].comments = definitions[index].comments[: -len(block)]
                definitions[below].comments[:0] = block
                waiting = []


def _worth_keeping(definitions: list[_Definition], used: frozenset[str]) -> list[_Definition]:
    """Returns the definitions without repeated assignments to the same name, and without assignments to names that are
    neither upper-case nor `used`."""
    seen: set[str] = set()
    dropped: set[int] = set()
    for index, definition in enumerate(definitions):
        if definition.kind == "constant":
            name = definition.name
            public = (name.isupper() and len(name) > 1) or name in used
            if definition.guarded or name in seen or not public or name == "_":
                dropped.add(index)
            seen.add(name)
    retained = [i for i in range(len(definitions)) if i not in dropped]
    place = {old: new for new, old in enumerate(retained)}
    for index in retained:
        parent = definitions[index].parent
        definitions[index].parent = None if parent is None else place[parent]
    return [definitions[i] for i in retained]
