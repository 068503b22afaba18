"""Slices code statically. Combines symbols and all their dependencies in a repository into one self-contained module.

The slice (Weiser, "Program Slicing", IEEE TSE 1984) consists of top-level statements. A statement is needed if it binds
or changes a name that a needed statement uses. Statements keep the order in which importing the repository would run
them, so import cycles still work. Names change only if two modules define them. Imports from the repository are
removed, and all others are merged at the top. No code is run."""

import ast
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from pydantic import Field

from xkg.build.code.codebase import Codebase
from xkg.build.slicing.class_parts import ClassParts, last_line
from xkg.build.slicing.dependence import Dependence, NestedImport, Place
from xkg.build.slicing.flat_names import NAMESPACE_TYPES, flat_names, undefined_names
from xkg.build.slicing.outlines import outline
from xkg.build.slicing.rewrite import Edit, Source
from xkg.build.slicing.scoping.bindings import Function, bound_name, imported_module
from xkg.build.slicing.scoping.name_resolution import (
    MODULE_NAMES,
    Definition,
    Program,
    RepositoryModule,
    Target,
)
from xkg.build.slicing.scoping.scopes import module_scope
from xkg.errors import UnknownIdError
from xkg.model import LineRange, Symbol, symbol_id
from xkg.sandbox.evidence.python_ast import first_line
from xkg.value import Value

MAX_LINES = 6000
"""Beyond this length, a slice omits dependencies and therefore does not run."""
_PYTHON_2 = (
    "is Python 2, shown in Python 3 syntax: in Python 2, `/` floors the quotient of two integers (`//`), and range, "
    "map, filter, zip and keys() return lists"
)


class Slice(Value):
    """A self-contained module sliced from a repository.

    `source` is the module's code. If slicing fails, for example for a broken or Python 2 file, `source` is empty and
    `refused` states the reason. `derived_from` lists the ids of the symbols in the module, in order, starting with the
    requested symbols. `packages` lists top-level imports from outside the standard library.

    `missing` maps undefined names to reasons. `cut` lists the ids of dependencies beyond the length limit, and
    `outlines` lists their signatures. `gaps` maps paths to the lines omitted from included classes, in order. `notes`
    describes code that static slicing cannot follow."""

    source: str
    derived_from: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    missing: dict[str, str] = Field(default={})
    cut: tuple[str, ...] = ()
    outlines: tuple[str, ...] = ()
    gaps: dict[str, tuple[LineRange, ...]] = Field(default={})
    notes: tuple[str, ...] = ()
    refused: str = ""


def slice_symbols(
    codebase: Codebase,
    symbol_ids: Sequence[str],
    *,
    max_lines: int = MAX_LINES,
    whole_classes: bool = False,
    lines: Mapping[str, Sequence[LineRange]] = MappingProxyType({}),
    ready: Collection[str] = (),
    outlined: Callable[[str], bool] = lambda _: False,
) -> Slice:
    """Returns a single self-contained module for the symbols.

    A class is included whole if it is requested or if `whole_classes` is True. Otherwise, only the methods and
    attributes that are needed are included. All other members are reduced to their signatures in comments. For a module
    whose id is in `lines`, includes only the statements on those lines and their dependencies. Functions and methods in
    `ready` are omitted unless they are requested.

    If the module would be longer than `max_lines`, the most distant dependencies are cut, but never the statements of
    the symbols themselves. Definitions in `outlined` files are always cut. Raises `UnknownIdError` for an id that is
    not in the codebase."""
    known = codebase.symbols()
    for identity in (*symbol_ids, *ready):
        if identity not in known:
            raise UnknownIdError(f"no symbol {identity!r} in {codebase.repository.id}; use the id of a parsed symbol")
    try:
        slicer = _Slicer(codebase, _program(_Identity(codebase)), max_lines, whole_classes, outlined)
        return slicer.slice(symbol_ids, lines, ready)
    except RecursionError:
        return Slice(source="", refused="the source is nested too deeply for this Python")


class _Identity:
    """Wraps a codebase as a cache key that is compared by identity, because comparing whole repositories would cost
    more than parsing."""

    def __init__(self, codebase: Codebase) -> None:
        self.codebase = codebase

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.codebase is self.codebase

    def __hash__(self) -> int:
        return id(self.codebase)


@lru_cache(maxsize=8)
def _program(key: _Identity) -> Program:
    return Program(key.codebase)


class _Slicer:
    def __init__(
        self,
        codebase: Codebase,
        program: Program,
        max_lines: int,
        whole_classes: bool,
        outlined: Callable[[str], bool],
    ) -> None:
        self.codebase = codebase
        self.program = program
        self.need = Dependence(program, max_lines, whole_classes=whole_classes, outlined=outlined)
        self.sources: dict[str, Source] = {}
        self.flat: dict[Target, str] = {}

    def slice(
        self, requested: Sequence[str], lines: Mapping[str, Sequence[LineRange]], ready: Collection[str]
    ) -> Slice:
        symbols = self.codebase.symbols()
        seeds: dict[Place, list[ast.stmt]] = {}
        self._leave_out(symbols[identity].symbol for identity in ready)
        for identity in requested:
            symbol = symbols[identity].symbol
            language = self.codebase.module(symbol).language
            if language != "python":
                return Slice(source="", refused=f"{symbol.path} is {language}, and only Python can be sliced")
            if self.program.scope(symbol.path) is None:
                return Slice(source="", refused=f"{symbol.path} is not Python 3 code that this Python can parse")
            found = self._seeds(symbol, lines.get(identity, ()))
            if not found:
                where = f"line {symbol.start_line} of {symbol.path}"
                return Slice(source="", refused=f"{where} is not a statement that can stand alone in this Python")
            for place in found:
                wanted = self._wanted(place, symbol)
                whole = not wanted or (place in seeds and not seeds[place])
                seeds[place] = [] if whole else [*seeds.get(place, ()), *wanted]
        self.need.grow(seeds)
        self.flat = flat_names(self.need, list(seeds))
        order = self.need.order(list(seeds))
        parts = self._parts(order)
        source = "\n\n".join(["\n".join(self._imports()), *parts]).strip("\n") + "\n"
        missing = dict(self.need.missing)
        cut = {symbol_id(self.codebase.repository.id, d.path, d.name): None for d in self.need.cut}
        written = module_scope(source)
        if written is None:
            return Slice(source="", refused="its parts do not form a module that this Python can parse")
        left_out = {self.flat.get(d, d.name) for d in (*self.need.cut, *self.need.ready)}
        for name in undefined_names(written):
            if name not in missing and name not in left_out:
                missing[name] = "nothing in the slice defines it"
        return Slice(
            source=source,
            derived_from=self._derived(requested, order),
            packages=self._packages(),
            missing=missing,
            cut=tuple(cut),
            outlines=tuple(line for definition in self.need.cut for line in self._outline(definition)),
            gaps=self._gaps(),
            notes=self._notes(),
        )

    def _seeds(self, symbol: Symbol, lines: Sequence[LineRange] = ()) -> list[Place]:
        scope = self.need.scope(symbol.path)
        if symbol.kind == "module":
            chosen = [
                Place(symbol.path, s.index)
                for s in scope.statements
                if not s.guarded
                and not s.is_import
                and any(s.first_line <= at.end_line and at.start_line <= s.last_line for at in lines)
            ]
            return chosen or [
                Place(symbol.path, s.index)
                for s in scope.statements
                if not s.guarded and not s.is_import and s.binds and not s.binds <= MODULE_NAMES | {"__all__"}
            ]
        return [
            Place(symbol.path, s.index)
            for s in scope.statements
            if s.first_line <= symbol.start_line <= s.last_line and (s.binds or s.node.lineno == symbol.start_line)
        ][:1]

    def _leave_out(self, ready: Iterable[Symbol]) -> None:
        for symbol in ready:
            for place in self._seeds(symbol) if self.program.scope(symbol.path) is not None else ():
                member, statement = self._member(place, symbol), self.need.statement(place)
                if member is not None and first_line(member) == symbol.start_line:
                    self.need.ready_members.setdefault(place, set()).add(member)
                elif statement.first_line == symbol.start_line:
                    self.need.ready |= {Definition(symbol.path, name) for name in statement.binds}

    def _wanted(self, place: Place, symbol: Symbol) -> list[ast.stmt]:
        """Returns the class members that a symbol requires, or an empty list for the whole statement."""
        member, left_out = self._member(place, symbol), self.need.ready_members.get(place)
        if member is None and left_out:
            return [each for each in getattr(self.need.statement(place).node, "body", []) if each not in left_out]
        return [] if member is None else [member]

    def _member(self, place: Place, symbol: Symbol) -> ast.stmt | None:
        """Returns the class member that is or contains this symbol, or None if the symbol is a whole statement."""
        node = self.need.statement(place).node
        if self.need.whole_classes or not isinstance(node, ast.ClassDef):
            return None
        members = (member for member in node.body if isinstance(member, Function | ast.ClassDef))
        return next((m for m in members if first_line(m) <= symbol.start_line <= last_line(m)), None)

    # --- writing ---

    def _imports(self) -> list[str]:
        future: dict[str, None] = {}
        for place in self.need.included:
            future |= dict.fromkeys(self.need.scope(place.path).future)
        lines = [f"from __future__ import {', '.join(future)}"] if future else []
        froms: dict[str, list[str]] = {}
        loaded: list[str] = []
        claimed = set(self.flat.values())
        for external in self.need.externals:
            flat, package = self.flat[external], ".".join(filter(None, [external.module, external.attribute]))
            modules = self._imported(package)
            if external.attribute is None and flat == external.alias == external.module:
                lines += [f"import {module}" for module in modules or [package]]
                continue
            if external.attribute is not None:
                name = external.attribute
                froms.setdefault(external.module, []).append(name if flat == name else f"{name} as {flat}")
            else:
                lines.append(f"import {package}" + (f" as {flat}" if flat != package else ""))
            # Submodules may be used through this name, as in `import scipy.sparse as spys; import scipy.sparse.linalg`.
            for module in modules:
                other = f" as {module.replace('.', '_')}" if module.partition(".")[0] in claimed else ""
                loaded += [f"import {module}{other}"] if module != package else []
        for path in self.need.stars:
            lines += [f"from {module} import *" for module in self._star_modules(path)]
        if self.need.namespaces:
            lines.append("import types" if self._types() == "types" else f"import types as {self._types()}")
        lines += [f"from {module} import {', '.join(names)}" for module, names in froms.items()]
        return list(dict.fromkeys([*lines, *loaded]))

    def _types(self) -> str:
        return self.flat[NAMESPACE_TYPES]

    def _imported(self, package: str) -> list[str]:
        """Returns the package and its submodules in order. Includes only modules that are imported without `as`."""
        found: dict[str, None] = {}
        for path in dict.fromkeys([*(p.path for p in self.need.included), *self.need.externals.values()]):
            for statement in self.need.scope(path).statements:
                for node, scope in statement.imports:
                    if isinstance(node, ast.Import) and scope.kind == "module" and statement.is_import:
                        names = (alias.name for alias in node.names if not alias.asname)
                        found |= dict.fromkeys(name for name in names if f"{name}.".startswith(f"{package}."))
        return list(found)

    def _star_modules(self, path: str) -> Iterator[str]:
        for statement in self.need.scope(path).statements:
            for module in statement.star_imports:
                if not module.startswith(".") and self.program.resolve(path, module, "*") is None:
                    yield module

    def _source(self, path: str) -> Source:
        if path not in self.sources:
            self.sources[path] = Source(self.program.texts[path])
        return self.sources[path]

    def _parts(self, order: Sequence[Place | str]) -> list[str]:
        """Returns the text of each part, which consists of consecutive statements from one file."""
        parts: list[str] = []
        run: list[Place] = []
        for item in order:
            if run and not (isinstance(item, Place) and self._follows(run[-1], item)):
                parts.append(self._part(run))
                run = []
            if isinstance(item, Place):
                run.append(item)
            else:
                parts.append(self._namespace(item))
        return [*parts, *([self._part(run)] if run else [])]

    def _follows(self, first: Place, second: Place) -> bool:
        return (
            first.path == second.path
            and second.index == first.index + 1
            and self.need.statement(first).guarded == self.need.statement(second).guarded
        )

    def _part(self, run: Sequence[Place]) -> str:
        source = self._source(run[0].path)
        first, last = self.need.statement(run[0]), self.need.statement(run[-1])
        previous = self.need.scope(run[0].path).statements[first.index - 1].last_line if first.index else 0
        begin, end = first.first_line, last.last_line
        while begin - 1 > previous and source.line(begin - 1).lstrip().startswith(b"#"):
            begin -= 1
        start, stop = source.offset(begin, 0), source.line_starts[end] - 1
        shared = not first.guarded and previous >= first.first_line
        following = self.need.scope(run[0].path).statements[last.index + 1 :][:1]
        if shared or (following and following[0].first_line <= end):  # the line contains several statements
            start = source.span(first.node)[0] if shared else start
            stop = source.span(last.node)[1]
        edits = [edit for place in run for edit in self._edits(place, source)]
        commit = self.codebase.repository.commit or self.codebase.repository.id.rpartition("@")[2]
        head = f"# --- {run[0].path}:{first.first_line}-{end} @ {commit[:7]}\n"
        if first.guarded:
            head += 'if __name__ == "__main__":\n'
        return head + source.cut(start, stop, edits)

    def _edits(self, place: Place, source: Source) -> Iterator[Edit]:
        statement = self.need.statement(place)
        for use, target, followed in self.need.included[place]:
            flat = self.flat.get(target)
            path = use.path[: followed + 1]
            if flat is None or flat == ".".join(path):
                continue
            node = use.attributes[followed - 1] if followed else use.node
            stored = followed and not isinstance(use.attributes[followed - 1].ctx, ast.Load)
            yield from source.exchange(node, path, f'globals()["{flat}"]' if stored else flat, use.text)
        parts = self.need.parts.get(place)
        for gap in parts.gaps if parts is not None else ():
            yield Edit(source.offset(gap.first, 0), source.line_starts[gap.last] - 1, gap.text)
        for name, heading in statement.headings:
            own = self.flat.get(Definition(place.path, name), name)
            if own != name:
                yield from source.heading(heading, name, own)
        for nested in self.need.nested[place]:
            text = self._import_text(place, nested)
            if text is not None:
                yield Edit(*source.span(nested.node), text)

    def _import_text(self, place: Place, nested: NestedImport) -> str | None:
        """Returns the replacement for an import inside a statement, or None to keep it unchanged."""
        retained: list[str] = []
        assigned: list[str] = []
        changed = False
        for alias, plan in zip(nested.node.names, nested.names, strict=True):
            bound = bound_name(alias)
            own = self.flat.get(Definition(place.path, bound), bound) if nested.scope.kind == "module" else bound
            if isinstance(plan, ast.alias):
                retained.append(f"{alias.name} as {own}" if own != bound or alias.asname else alias.name)
                changed = changed or own != bound
            else:
                changed = True
                assigned += [line for name, target in plan if (line := self._assignment(place, nested, name, target))]
        if not changed:
            return None
        module = imported_module(nested.node)
        imports = (
            [f"from {module} import {', '.join(retained)}" if module else f"import {', '.join(retained)}"]
            if retained
            else []
        )
        return "; ".join([*imports, *assigned]) or "pass"

    def _assignment(self, place: Place, nested: NestedImport, bound: str, target: Target) -> str:
        """Returns an assignment of the target to `bound`, or '' if both have the same name."""
        scope = nested.scope
        own = self.flat.get(Definition(place.path, bound), bound) if scope.kind == "module" else bound
        flat = self.flat.get(target, bound)
        if scope.kind == "function" and scope.binds(flat):
            return f'{own} = globals()["{flat}"]'
        return f"{own} = {flat}" if flat != own or scope.kind == "class" else ""

    def _namespace(self, path: str) -> str:
        members = ", ".join(
            f"{name}={self.flat[target]}"
            for name, target in self.need.namespaces[path].items()
            if target in self.flat and target not in self.need.cut
        )
        name = self.flat[RepositoryModule(path)]
        return f"# --- {path} as a namespace\n{name} = {self._types()}.SimpleNamespace({members})"

    # --- description ---

    def _derived(self, requested: Sequence[str], order: Sequence[Place | str]) -> tuple[str, ...]:
        by_path: dict[str, list[Symbol]] = {}
        for place in self.need.included:
            by_path.setdefault(place.path, [])
        for module in self.codebase.modules:
            if module.path in by_path:
                by_path[module.path] = [s.symbol for s in module.symbols if s.symbol.kind != "module"]
        found = dict.fromkeys(requested)
        for item in order:
            if isinstance(item, Place):
                statement = self.need.statement(item)
                for symbol in by_path[item.path]:
                    inside = statement.first_line <= symbol.start_line <= statement.last_line
                    if inside and self._is_retained(symbol, self.need.parts.get(item)):
                        found[symbol.id] = None
        return tuple(found)

    def _is_retained(self, symbol: Symbol, parts: ClassParts | None) -> bool:
        """Returns whether a symbol in an included statement is itself in the slice, as a whole statement or a kept
        member of a partly included class."""
        is_inner = "." in symbol.qualified_name
        if parts is None or not parts.gaps:
            return not is_inner
        return is_inner and all(parts.holds(line) for line in range(symbol.start_line, symbol.end_line + 1))

    def _gaps(self) -> dict[str, tuple[LineRange, ...]]:
        found: dict[str, list[LineRange]] = {}
        for place in sorted(self.need.included, key=lambda place: (place.path, place.index)):
            parts = self.need.parts.get(place)
            for gap in parts.gaps if parts is not None else ():
                found.setdefault(place.path, []).append(LineRange(start_line=gap.first, end_line=gap.last))
        return {path: tuple(ranges) for path, ranges in found.items()}

    def _outline(self, definition: Definition) -> Iterator[str]:
        scope = self.need.scope(definition.path)
        for index in scope.bindings.get(definition.name, ())[-1:]:
            yield from outline(definition.name, scope.statements[index].node)

    def _packages(self) -> tuple[str, ...]:
        modules = [e.module for e in self.need.externals]
        modules += [m for path in self.need.stars for m in self._star_modules(path)]
        for item in (item for nested in self.need.nested.values() for item in nested):
            for alias, plan in zip(item.node.names, item.names, strict=True):
                if plan is alias:
                    modules.append(alias.name if isinstance(item.node, ast.Import) else imported_module(item.node))
        tops = {m.split(".")[0] for m in modules}
        return tuple(sorted(t for t in tops if t and t not in sys.stdlib_module_names))

    def _notes(self) -> tuple[str, ...]:
        notes = []
        for place, references in self.need.included.items():
            for reference in references:
                name = reference.use.path[-1]
                if reference.use.name in ("eval", "exec", "globals", "__import__") or name == "import_module":
                    notes.append(f"{place.path}:{reference.use.node.lineno} uses {'.'.join(reference.use.path)}: "
                                 "its targets cannot be determined")  # fmt: skip
        notes += [
            f"{path} is a namespace here: later assignments in it have no effect" for path in self.need.namespaces
        ]
        notes += [f"{path} {_PYTHON_2}" for path in sorted({p.path for p in self.need.included} & self.program.python2)]
        return tuple(dict.fromkeys(notes))
