"""Combines components and the code that calls them into one complete module.

Components and new code become modules in a temporary package, in which the new code imports the names that it uses. The
result is a slice of the new code with only reachable definitions, in a runnable order. Imports are merged, names are
distinct, and shared definitions occur once."""

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xkg.build.code.repository import parse_repository
from xkg.build.repositories.checkout import Checkout, File
from xkg.build.slicing.flat_names import undefined_names
from xkg.build.slicing.outlines import outline
from xkg.build.slicing.rewrite import Edit, Source
from xkg.build.slicing.scoping.bindings import Statement, bound_name
from xkg.build.slicing.scoping.scopes import ModuleScope, module_scope
from xkg.build.slicing.slice import slice_symbols
from xkg.errors import InputError
from xkg.model import Repository, slug
from xkg.sandbox.evidence.python_ast import syntax_tree

_REPOSITORY = "local:composed@0"
_NEW = "new_code.py"
_MAX_LINES = 100_000
_HEADING = re.compile(r"^# --- (?:component: .*|new)\n", re.MULTILINE)
# Prompts show only the signatures of components with more characters than this.
LISTED = 6_000
_DEEPEST = 60


@dataclass(frozen=True)
class Part:
    """A component's code (a self-contained module) and its display name."""

    name: str
    source: str


@dataclass(frozen=True)
class Composed:
    """A composed module. `used` contains the indices of the included parts. If there is a `problem`, `source` is
    empty."""

    source: str
    used: tuple[int, ...] = ()
    problem: str = ""


@dataclass
class _Module:
    """A part and its statements. `duplicates` maps names to an earlier part with the same definition. `names` maps the
    part's names to the names that new code uses. `helpers` contains private names that new code may also use."""

    part: Part
    path: str
    scope: ModuleScope
    duplicates: dict[str, int] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    helpers: frozenset[str] = frozenset()

    @property
    def offers(self) -> list[str]:
        return list(self.names.values())

    @property
    def dotted(self) -> str:
        return self.path.removesuffix(".py")


def compose(new: str, parts: Sequence[Part]) -> Composed:
    """Prepends the part definitions that the new code reaches. Undefined names in the new code refer to the parts (see
    `interfaces`). A comment above each section states its origin. New code that uses no part is returned unchanged."""
    try:
        return _compose(new, parts)
    except RecursionError:
        return Composed("", problem="it is nested too deeply")


def _compose(new: str, parts: Sequence[Part]) -> Composed:
    scope = module_scope(new)
    if scope is None:
        return Composed("", problem="it does not parse")
    modules = _modules(parts)
    owners = {name: i for i, module in modules.items() for name in (*module.helpers, *module.offers)}
    reached = {name: modules[owners[name]] for name in undefined_names(scope) if name in owners}
    if not reached:
        return Composed(new)
    files = {module.path: _with_imported_duplicates(module, modules) for module in modules.values()}
    imports = [f"from {module.dotted} import {name}" for name, module in reached.items()]
    files[_NEW] = _with_imports(new, imports)
    try:
        codebase = parse_repository(_checkout(files))
    except InputError as error:
        return Composed("", problem=str(error))
    if len(codebase.modules) < len(files):
        return Composed("", problem="one of the parts was not recognised as source")
    cut = slice_symbols(codebase, [f"{_REPOSITORY}:{_NEW}"], max_lines=_MAX_LINES, whole_classes=True)
    if cut.refused:
        return Composed("", problem=cut.refused)
    names = {modules[i].path: f"component: {modules[i].part.name}" for i in modules} | {_NEW: "new"}
    used = tuple(i for i in sorted(modules) if re.search(rf"^# --- {re.escape(modules[i].path)}:", cut.source, re.M))
    return Composed(_docstring(new) + _with_headings(cut.source, names), used)


def interfaces(parts: Sequence[Part]) -> str:
    """Returns the names that each part offers to new code. Includes signatures with the first sentence of the
    docstring, class fields, and constants with their values. If two parts define a name differently, the later
    definition is renamed."""
    blocks = []
    for module in _modules(parts).values():
        lines = [line for name in module.offers for line in outline(name, _statement(module.scope, name))]
        text = "\n".join([f"From {module.part.name}:", *lines])
        if lines:
            blocks.append(text if len(text) <= LISTED else f"{text[:LISTED]}\n… (cut)")
    return "\n\n".join(blocks)


def combined(parts: Sequence[Part]) -> str:
    """Returns everything that new code can use, including dependencies, in the format of `compose`, or '' if composing
    fails."""
    names = ", ".join(sorted(callable_names(parts)))
    whole = compose(f"_all = ({names},)\n", parts) if names else Composed("")
    return whole.source.rpartition("# --- new\n")[0].strip("\n")


def rendered(parts: Sequence[Part]) -> str:
    """Returns the code of the parts if it is short, or else their `interfaces`."""
    code = combined(parts)
    return code if 0 < len(code) <= LISTED else interfaces(parts)


def callable_names(parts: Sequence[Part]) -> frozenset[str]:
    """Returns the names that new code can call."""
    return frozenset(name for module in _modules(parts).values() for name in module.offers)


# --- parts as modules -------------------------------------------------------------------------------------------------


def _modules(parts: Sequence[Part]) -> dict[int, _Module]:
    """Returns the parts that parse, keyed by index."""
    modules: dict[int, _Module] = {}
    claimed: set[str] = set()
    for i, part in enumerate(parts):
        source = _HEADING.sub("", part.source)
        scope = module_scope(source)
        if scope is None:
            continue
        stem = f"component_{re.sub(r'[^a-z0-9]+', '_', slug(part.name))[:40].strip('_')}"
        path = f"{stem}.py" if stem not in claimed else f"{stem}_{i}.py"
        claimed.add(path.removesuffix(".py"))
        modules[i] = _Module(Part(part.name, source), path, scope)
    _find_duplicates(modules)
    _find_callable(modules)
    return modules


def _find_duplicates(modules: Mapping[int, _Module]) -> None:
    first_owner: dict[str, int] = {}
    # a chain of calls cannot be longer than the number of names
    depth = min(_DEEPEST, sum(len(module.scope.bindings) for module in modules.values()))
    for i, module in modules.items():
        for name, meaning in _meanings(module.scope, f"part {i}", depth).items():
            if first_owner.setdefault(meaning, i) != i:
                module.duplicates[name] = first_owner[meaning]


def _find_callable(modules: Mapping[int, _Module]) -> None:
    """Sets the names that new code can call in each part. If an earlier part has the same name, the later name is
    changed."""
    claimed: set[str] = set()
    for module in modules.values():
        changed: dict[str, str] = {}
        helpers: set[str] = set()
        for name, places in module.scope.bindings.items():
            statement = module.scope.statements[places[0]]
            if statement.is_import or statement.guarded or name in module.duplicates:
                continue
            if name.startswith("_"):
                helpers |= {name} - claimed
                continue
            changed[name] = name if name not in claimed else f"{name}__{module.dotted}"
        if any(name != own for own, name in changed.items()):
            source = _renamed(module.part.source, module.scope, changed)
            scope = module_scope(source)
            if scope is None:
                continue
            module.part, module.scope = Part(module.part.name, source), scope
        module.names, module.helpers = changed, frozenset(helpers)
        claimed.update(module.offers, helpers)


def _meanings(scope: ModuleScope, owner: str, depth: int) -> dict[str, str]:
    """Maps each function, class and constant in a module to a canonical text, which is the same for identical
    definitions. The text represents the syntax tree without docstrings and annotations. Names are resolved through up
    to `depth` levels of calls."""
    own = {name: _defining_statement(scope, name) for name in scope.bindings}
    imports = {name: _imported(s.node, name) for name, s in own.items() if s is not None and s.is_import}
    shapes: dict[str, str] = {}
    uses: dict[str, set[str]] = {}
    for name, statement in own.items():
        if statement is None:
            shapes[name], uses[name] = f"{owner} {name}", set()
        elif not statement.is_import:
            tree = _bare(statement.node)
            inside = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            shapes[name] = f"{name} {ast.dump(tree)}"
            uses[name] = inside & {use.name for use in statement.uses}
    meanings = dict(shapes)
    for _ in range(depth):
        known = {name: _digest(text) for name, text in (imports | meanings).items()}
        meanings = {name: f"{shapes[name]} {[(u, known.get(u, u)) for u in sorted(uses[name])]}" for name in shapes}
    return {name: meaning for name, meaning in meanings.items() if own[name] is not None}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _defining_statement(scope: ModuleScope, name: str) -> Statement | None:
    """Returns the only statement that binds a name, or None if there may be others or the value may change later."""
    places = scope.bindings[name]
    statement = scope.statements[places[0]]
    if len(places) > 1 or name in scope.globals_written:
        return None
    if statement.is_import or isinstance(statement.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        touched = any(u.name == name and u.immediate and not s.binds for s in scope.statements for u in s.uses)
        return None if touched else statement
    match statement.node:
        case (
            ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(target=ast.Name(), value=ast.expr() as value)
        ):
            plain = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop, ast.expr_context)
            return statement if all(isinstance(n, plain) for n in ast.walk(value)) else None
        case _:
            return None


def _bare(node: ast.stmt) -> ast.Module:
    """Returns a module that contains only this statement. Removes docstrings and function annotations."""
    tree = syntax_tree(ast.unparse(node))
    for inner in ast.walk(tree):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if ast.get_docstring(inner, clean=False) is not None:
                inner.body = inner.body[1:] or [ast.Pass()]
            if not isinstance(inner, ast.ClassDef):
                inner.returns = None
        elif isinstance(inner, ast.arg):
            inner.annotation = None
    return tree


def _imported(node: ast.stmt, name: str) -> str:
    module = f"{node.level} {node.module}" if isinstance(node, ast.ImportFrom) else ""
    aliases = node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
    return f"import {module} {[a.name for a in aliases if bound_name(a) == name]}"


def _statement(scope: ModuleScope, name: str) -> ast.stmt:
    return scope.statements[scope.bindings[name][-1]].node


# --- writing ----------------------------------------------------------------------------------------------------------


def _with_imported_duplicates(module: _Module, modules: Mapping[int, _Module]) -> str:
    """Returns the part's source. Each definition that an earlier part shares is replaced with an import."""
    lines = module.part.source.split("\n")
    imports = []
    for name, first in module.duplicates.items():
        statement = module.scope.statements[module.scope.bindings[name][0]]
        others = [s for s in module.scope.statements if s is not statement]
        if any(s.first_line <= statement.last_line and statement.first_line <= s.last_line for s in others):
            continue  # the statement shares a line with another statement
        for number in range(statement.first_line, statement.last_line + 1):
            lines[number - 1] = ""
        own = modules[first].names.get(name, name)
        imports.append(f"from {modules[first].dotted} import {own}" + (f" as {name}" if own != name else ""))
    return _with_imports("\n".join(lines), imports)


def _renamed(text: str, scope: ModuleScope, names: Mapping[str, str]) -> str:
    """Replaces global names in the text according to `names`."""
    source = Source(text)
    edits: list[Edit] = []
    for statement in scope.statements:
        for use in statement.uses:
            own = names.get(use.name, use.name)
            if own != use.name:
                edits += source.exchange(use.node, (use.name,), own, use.text)
        for name, heading in statement.headings:
            if names.get(name, name) != name:
                edits += source.heading(heading, name, names[name])
    return source.cut(0, len(source.data), edits)


def _with_imports(source: str, imports: Sequence[str]) -> str:
    """Adds import lines at the top of the source, after the docstring and `from __future__`."""
    lines = source.split("\n")
    at = 0
    for node in syntax_tree(source).body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (docstring or future):
            break
        at = node.end_lineno or at
    return "\n".join([*lines[:at], *imports, *lines[at:]])


def _checkout(files: Mapping[str, str]) -> Checkout:
    def read(paths: Sequence[str]) -> Iterator[bytes]:
        return (files[path].encode("utf-8", "surrogatepass") for path in paths)

    listed = tuple(File(path, "file", len(text.encode("utf-8", "surrogatepass"))) for path, text in files.items())
    return Checkout(Repository(id=_REPOSITORY, url=""), listed, (), read)


def _docstring(source: str) -> str:
    tree = syntax_tree(source)
    if ast.get_docstring(tree, clean=False) is None:
        return ""
    first = tree.body[0]
    return "\n".join(source.split("\n")[first.lineno - 1 : first.end_lineno]) + "\n\n"


def _with_headings(source: str, names: Mapping[str, str]) -> str:
    """Replaces the slice's headings with the composed module's headings. Drops repeated headings."""
    lines: list[str] = []
    last = ""
    for line in source.split("\n"):
        match = re.fullmatch(r"# --- (\S+):\d+-\d+ @ 0", line)
        name = names.get(match[1]) if match else None
        if name is None:
            lines.append(line)
        elif name != last:
            lines.append(f"# --- {name}")
            last = name
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n") + "\n"
