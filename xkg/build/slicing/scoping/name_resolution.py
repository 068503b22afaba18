"""Resolves global names across a repository's modules as far as possible without running them."""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from xkg.build.code.codebase import Codebase
from xkg.build.code.imports import ModuleIndex
from xkg.build.code.languages.python2 import as_python3, uses_xrange
from xkg.build.slicing.scoping.bindings import ImportNode, Statement, Use, bound_name, imported_module
from xkg.build.slicing.scoping.broken_statements import without_broken_statements
from xkg.build.slicing.scoping.scopes import ModuleScope, module_scope
from xkg.model import slug

BUILTINS = frozenset(dir(builtins))
MODULE_NAMES = frozenset({"__file__", "__name__", "__doc__", "__package__", "__spec__", "__loader__", "__path__"})
# A star import from a numeric library may override these builtins.
_STARRED_BUILTINS = frozenset({"sum", "abs", "max", "min", "pow", "round", "any", "all", "divmod", "open"})


@dataclass(frozen=True, slots=True)
class Definition:
    """A name bound by statements in a module."""

    path: str
    name: str


@dataclass(frozen=True, slots=True)
class External:
    """An import from outside the repository, such as `import module as alias` (with `attribute` None) or an import of
    an attribute.

    A plain `import a.b` has alias `a` and module `a`. The import statements determine which submodules are added."""

    module: str
    attribute: str | None
    alias: str


@dataclass(frozen=True, slots=True)
class RepositoryModule:
    path: str


@dataclass(frozen=True, slots=True)
class Star:
    """A name that a star import from outside the repository may define."""

    path: str
    name: str


@dataclass(frozen=True, slots=True)
class Builtin:
    name: str


@dataclass(frozen=True, slots=True)
class Missing:
    """An unresolvable name, with the reason."""

    name: str
    reason: str


Target = Definition | External | RepositoryModule | Star | Builtin | Missing


class Reference(NamedTuple):
    """A use of a name and its target. `followed` is the number of attributes from the name to the target: in
    `m.sub.f.x`, `f` is 2 attributes from `m`."""

    use: Use
    target: Target
    followed: int

    @property
    def node(self) -> ast.expr:
        return self.use.attributes[self.followed - 1] if self.followed else self.use.node


class Program:
    """All Python modules in a codebase. Python 2 modules are converted to Python 3, without any statements that still
    do not parse. `python2` contains the paths of these modules."""

    def __init__(self, codebase: Codebase) -> None:
        modules = [m for m in codebase.modules if m.language == "python"]
        self.texts = {m.path: as_python3(m.text) if m.broken or uses_xrange(m.text) else m.text for m in modules}
        self.python2 = frozenset(m.path for m in modules if self.texts[m.path] != m.text)
        for module in modules:
            if module.broken and (parsed := without_broken_statements(self.texts[module.path])):
                self.texts[module.path] = parsed[0]
        self._scopes: dict[str, ModuleScope | None] = {}
        names = {}
        for module in modules:
            own = {s.symbol.qualified_name for s in module.symbols if "." not in s.symbol.qualified_name}
            names[module.path] = frozenset(own | {i.name for i in module.imports})
        self.index = ModuleIndex(names, codebase.repository.id, codebase.roots)
        self._resolved: dict[tuple[str, str, str], str | None] = {}
        self._stars: dict[str, dict[int, dict[str, Target]]] = {}
        self._lookups: dict[tuple[str, str], Target] = {}

    def scope(self, path: str) -> ModuleScope | None:
        if path not in self._scopes:
            text = self.texts.get(path)
            self._scopes[path] = None if text is None else module_scope(text)
        return self._scopes[path]

    # --- modules ---

    def resolve(self, importer: str, module: str, attribute: str = "") -> str | None:
        key = (importer, module, attribute)
        if key not in self._resolved:
            evidence = self._evidence(importer, module) if not attribute else {attribute}
            self._resolved[key] = self.index.resolve(importer, module, evidence)
        return self._resolved[key]

    def _evidence(self, importer: str, module: str) -> set[str]:
        """Returns the attributes of an imported module that the importing module uses."""
        statements = self._statements(importer)
        prefixes = {tuple(module.split("."))} | {
            (alias.asname,)
            for statement in statements
            for node, _ in statement.imports
            for alias in node.names
            if isinstance(node, ast.Import) and alias.name == module and alias.asname
        }
        uses = [use.path for statement in statements for use in statement.uses]
        return {path[len(p)] for p in prefixes for path in uses if path[: len(p)] == p and len(path) > len(p)}

    def _statements(self, path: str) -> tuple[Statement, ...]:
        scope = self.scope(path)
        return scope.statements if scope else ()

    def imported(
        self, path: str, node: ImportNode, alias: ast.alias, seen: frozenset[tuple[str, str]] = frozenset()
    ) -> Target:
        """Returns the target of the name that an import binds. For `seen`, see `member`."""
        if isinstance(node, ast.Import):
            target = self.resolve(path, alias.name)
            if target is None:
                if alias.asname:
                    return self._outside(path, alias.name, None, alias.asname)
                return self._outside(path, bound_name(alias), None, bound_name(alias))
            if alias.asname:
                return RepositoryModule(target)
            stem = target.rstrip("/").removesuffix("/__init__.py").removesuffix(".py")
            for _ in range(alias.name.count(".")):
                stem = stem.rpartition("/")[0]
            return RepositoryModule(self.index.at(stem) or self.index.root)
        target = self.resolve(path, imported_module(node), alias.name)
        if target is None:
            return self._outside(path, imported_module(node), alias.name, alias.asname or alias.name)
        return self.member(target, alias.name, seen)

    def _outside(self, path: str, module: str, attribute: str | None, alias: str) -> Target:
        top, dot, _ = module.partition(".")
        roots = (self.index.package_root(path), "", "src")
        packages = [f"{root}/{top}/__init__.py".lstrip("/") for root in roots]
        own = self.index.own_name == slug(top) or any(p in self.texts for p in packages)
        if not top or (dot and own) or top in self.index.roots:
            return Missing(alias, f"{path} imports it from {module}, whose source is not in the repository")
        return External(module, attribute, alias)

    def member(self, module: str, name: str, seen: frozenset[tuple[str, str]] = frozenset()) -> Target:
        """Returns the target of `module.name`, which is a name bound in the module or else a module in the package.
        `seen` contains the names that are being resolved and prevents infinite recursion."""
        if module in self.texts and self.scope(module) is None:
            return Missing(name, f"{module} cannot be parsed by this Python")
        found = self._global(module, name, seen) if module in self.texts else None
        if found is None or isinstance(found, Missing):
            inside = self.index.submodule(module, name)
            if inside is not None:
                return RepositoryModule(inside)
        if found is None and name in MODULE_NAMES:
            return Builtin(name)
        return found or Missing(name, f"{module} does not define it")

    # --- names ---

    def lookup(self, path: str, name: str) -> Target:
        """Returns the target of a global name in a module."""
        key = (path, name)
        if key not in self._lookups:
            found = self._global(path, name, frozenset())
            if name in BUILTINS and isinstance(found, Star) and name not in _STARRED_BUILTINS:
                found = None
            if found is None:
                found = (
                    Builtin(name) if name in BUILTINS | MODULE_NAMES else Missing(name, f"{path} does not define it")
                )
            self._lookups[key] = found
        return self._lookups[key]

    def _global(self, path: str, name: str, seen: frozenset[tuple[str, str]]) -> Target | None:
        scope = self.scope(path)
        if scope is None or (path, name) in seen:
            return None
        seen |= {(path, name)}
        statements = [scope.statements[i] for i in self.bindings(path, name)]
        statements = [s for s in statements if not s.guarded] or statements
        if statements:
            targets = [self._import_target(path, s, name, seen) for s in statements]
            if all(t is not None and t == targets[-1] for t in targets) or (
                targets[-1] is not None and all(s.is_import for s in statements)
            ):
                return targets[-1]
            return Definition(path, name)
        if name in scope.globals_written:
            return Definition(path, name)
        outside = False
        for statement in reversed(scope.statements):
            for module in statement.star_imports:
                target = self.resolve(path, module, "*")
                if target is None:
                    outside = True
                elif self._exports(target, name) and (found := self._global(target, name, seen)) is not None:
                    return found
        return Star(path, name) if outside else None

    def bindings(self, path: str, name: str) -> list[int]:
        """Returns the indices of the statements that bind a name, in order. Includes a star import from the repository
        only if the module also binds the name itself."""
        scope = self.scope(path)
        own = scope.bindings.get(name, ()) if scope else ()
        return sorted({*own, *(i for i, names in self.rebound_stars(path).items() if name in names)})

    def rebound_stars(self, path: str) -> dict[int, dict[str, Target]]:
        """Maps each statement with a star import from the repository to the imported names that the module also binds
        itself. These become assignments."""
        scope = self.scope(path)
        if path not in self._stars and scope is not None:
            self._stars[path] = {}  # in case of cyclic star imports
            rebound: dict[int, dict[str, Target]] = {}
            for statement in scope.statements:
                for source in (self.resolve(path, module, "*") for module in statement.star_imports):
                    for name in scope.bindings if source else ():
                        if source and name not in statement.binds and self._exports(source, name):
                            target = self._global(source, name, frozenset())
                            if target is not None:
                                rebound.setdefault(statement.index, {})[name] = target
            self._stars[path] = rebound
        return self._stars.get(path, {})

    def _exports(self, module: str, name: str) -> bool:
        scope = self.scope(module)
        if scope is None:
            return False
        return name in scope.exported if scope.exported is not None else not name.startswith("_")

    def _import_target(
        self, path: str, statement: Statement, name: str, seen: frozenset[tuple[str, str]]
    ) -> Target | None:
        """Returns the target of a name bound only by replaceable imports in the statement. Otherwise, returns None."""
        starred = self.rebound_stars(path).get(statement.index, {})
        if name in starred:
            return starred[name]
        scope_imports = [(n, s) for n, s in statement.imports if s.kind == "module"]
        found: list[Target] = []
        for node in self.chosen_imports(path, statement):
            for alias in node.names:
                if bound_name(alias) == name:
                    target = self.imported(path, node, alias, seen)
                    if isinstance(target, Definition) and self._rebound(target):
                        return None  # the importing module keeps the value from import time
                    found.append(target)
        if not found or (not statement.is_import and (name in _bound_otherwise(statement.node) or not scope_imports)):
            return None
        if not statement.is_import and any(isinstance(t, External) for t in found):
            return None
        return found[-1] if all(t == found[-1] for t in found) or statement.is_import else None

    def chosen_imports(self, path: str, statement: Statement) -> list[ImportNode]:
        """Returns the module-level imports in a statement that actually run. In `try: import … except ImportError:
        import …`, only the first part runs if all its modules are in the repository."""
        every = [node for node, scope in statement.imports if scope.kind == "module"]
        node = statement.node
        if isinstance(node, ast.Try) and node.handlers and all(_catches_import_error(h) for h in node.handlers):
            first = [n for n in node.body if isinstance(n, ast.Import | ast.ImportFrom)]
            if len(first) == len(node.body) and all(
                isinstance(self.imported(path, n, a), Definition | RepositoryModule) for n in first for a in n.names
            ):
                return first
        return every

    def _rebound(self, target: Definition) -> bool:
        scope = self.scope(target.path)
        return (scope is not None and target.name in scope.globals_written) or target in self._assigned_from_outside

    @cached_property
    def _assigned_from_outside(self) -> frozenset[Definition]:
        """Returns the module names assigned by other modules, as in `config.debug = True`."""
        found: set[Definition] = set()
        for path in self.texts:
            statements = self._statements(path)
            aliases = {a.asname or a.name.split(".")[-1] for s in statements for n, _ in s.imports for a in n.names}
            for statement in statements:
                for use in statement.uses:
                    stored = use.attributes and not isinstance(use.attributes[-1].ctx, ast.Load)
                    if stored and (use.name in aliases or use.local or len(use.path) > 2):
                        module = self._module_of(path, use)
                        if module is not None:
                            found.add(Definition(module, use.attributes[-1].attr))
        return frozenset(found)

    def _module_of(self, path: str, use: Use) -> str | None:
        target: Target = self.imported(path, *use.local[-1]) if use.local else self._plain_import(path, use.name)
        for attribute in use.attributes[:-1]:
            if not isinstance(target, RepositoryModule):
                return None
            inside = self.index.submodule(target.path, attribute.attr)
            if inside is None:
                return None
            target = RepositoryModule(inside)
        return target.path if isinstance(target, RepositoryModule) else None

    def _plain_import(self, path: str, name: str) -> Target:
        for statement in reversed([s for s in self._statements(path) if name in s.binds]):
            for node, alias in ((n, a) for n, _ in statement.imports for a in n.names if bound_name(a) == name):
                if isinstance(node, ast.Import):
                    return self.imported(path, node, alias)
                module = self.resolve(path, imported_module(node), alias.name)
                inside = self.index.submodule(module, alias.name) if module else None
                if inside:
                    return RepositoryModule(inside)
        return Missing(name, "")

    # --- uses ---

    def reference(self, path: str, use: Use) -> Reference:
        """Follows a use of a name through modules to its target. If a module is used as a value, for example as an
        argument or in `getattr`, the target is a `RepositoryModule`."""
        target = self.imported(path, *use.local[-1]) if use.local else self.lookup(path, use.name)
        followed = 0
        while isinstance(target, RepositoryModule) and followed < len(use.attributes):
            inner = self.member(target.path, use.attributes[followed].attr)
            if isinstance(inner, Missing):
                return Reference(use, Missing(".".join(use.path[: followed + 2]), inner.reason), 0)
            followed += 1
            target = inner
        return Reference(use, target, followed)

    def local_is_plain(self, path: str, use: Use) -> bool:
        """Returns whether a function's own imports of a name can be removed because they all have the same target in
        the repository."""
        targets = {self.imported(path, node, alias) for node, alias in use.local}
        return len(targets) == 1 and isinstance(next(iter(targets)), Definition | RepositoryModule)

    def modules_run_by(self, path: str, node: ImportNode) -> Iterator[str]:
        """Yields the paths of the repository modules that an import statement runs, in order."""
        for alias in node.names:
            if isinstance(node, ast.Import):
                target = self.resolve(path, alias.name)
            else:
                target = self.resolve(path, imported_module(node), alias.name)
            if target is None:
                continue
            yield from self.with_parents(target)
            if isinstance(node, ast.ImportFrom) and not self._binds(target, alias.name):
                inside = self.index.submodule(target, alias.name)
                if inside is not None:
                    yield inside

    def with_parents(self, path: str) -> Iterator[str]:
        folders = path.rstrip("/").split("/")[:-1]
        for depth in range(1, len(folders) + 1):
            package = "/".join(folders[:depth]) + "/__init__.py"
            if package in self.texts and package != path:
                yield package
        yield path

    def _binds(self, module: str, name: str) -> bool:
        scope = self.scope(module)
        return scope is not None and name in scope.bindings


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    names = {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)} if handler.type else {"Exception"}
    return bool(names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def _bound_otherwise(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} | {
        n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
