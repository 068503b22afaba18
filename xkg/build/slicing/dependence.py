"""Finds the statements that the given statements depend on, in import order."""

import ast
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xkg.build.slicing.class_parts import ClassParts, mentions
from xkg.build.slicing.scoping.bindings import ImportNode, Scope, Statement, bound_name, imported_module
from xkg.build.slicing.scoping.name_resolution import (
    Builtin,
    Definition,
    External,
    Missing,
    Program,
    Reference,
    RepositoryModule,
    Star,
    Target,
)
from xkg.build.slicing.scoping.scopes import ModuleScope
from xkg.build.slicing.scoping.statement_effects import (
    changed_names,
    is_direct,
    is_set_up,
    is_type_checking,
    may_register,
    names_stored_by_functions,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A statement, identified by its module's path and its index in that module."""

    path: str
    index: int


Plan = ast.alias | tuple[tuple[str, Target], ...]


class NestedImport(NamedTuple):
    """An import inside an included statement. `names` has an entry for each alias in the import: the alias itself if it
    is kept, or else the assignments that replace it, as (bound name, target). A removed alias has an empty entry."""

    node: ImportNode
    scope: Scope
    names: tuple[Plan, ...]


# Names in annotations or constructors count as more distant than names called by a method.
_FAR = 3


class Dependence:
    """Collects the statements in a slice. Grows from the seeds, nearest dependencies first, until nothing is missing or
    `max_lines` is reached.

    `included` maps each statement to its references, and `cut` contains the definitions beyond the limit, plus all
    those in `outlined` files. `parts` contains the kept lines of each class. If `whole_classes` is True, all lines are
    kept. Definitions in `ready` and class members in `ready_members` are used but not included."""

    def __init__(
        self,
        program: Program,
        max_lines: int,
        *,
        whole_classes: bool = False,
        outlined: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.program = program
        self._outlined = outlined
        self.lines_left = max_lines
        self.whole_classes = whole_classes
        self.included: dict[Place, list[Reference]] = {}
        self.parts: dict[Place, ClassParts] = {}
        self.nested: dict[Place, list[NestedImport]] = {}
        self.namespaces: dict[str, dict[str, Target]] = {}
        self.externals: dict[External, str] = {}
        self.stars: dict[str, None] = {}
        self.builtins: set[str] = set()
        self.missing: dict[str, str] = {}
        self.cut: dict[Definition, None] = {}
        self.ready: set[Definition] = set()
        self.ready_members: dict[Place, set[ast.stmt]] = {}
        self._queue: list[tuple[int, int, Definition, int | None]] = []
        self._count = itertools.count()
        self._distance: dict[Place, int] = {}
        self._seen: set[tuple[Definition, int | None]] = set()
        self._followed: set[tuple[Place, int | None]] = set()
        # These definitions have uses other than in annotations and as bases of partly included classes.
        self._strong: set[Definition] = set()
        self._own_attributes: set[str] = set()
        self._attributes: set[str] = set()
        self._foreign: dict[str, frozenset[str]] = {}
        self._repeats: dict[str, bool] = {}

    def scope(self, path: str) -> ModuleScope:
        scope = self.program.scope(path)
        assert scope is not None
        return scope

    def statement(self, place: Place) -> Statement:
        return self.scope(place.path).statements[place.index]

    def grow(self, seeds: Mapping[Place, Collection[ast.stmt]]) -> None:
        """Grows the slice from `seeds`, which maps statements to the needed class members, most important first. An
        empty value means the whole statement. Dependencies are included in the same order."""
        for rank, (seed, roots) in enumerate(seeds.items()):
            self._distance[seed] = _FAR if rank else 0
            if roots:
                self.parts[seed] = self._new_parts(seed, roots)
            self._include(seed, None, seed=True)
        while True:
            while self._queue:
                distance, _, definition, position = heapq.heappop(self._queue)
                if definition in self.ready:
                    continue
                if self._outlined(definition.path) and definition.path not in {seed.path for seed in seeds}:
                    self.cut[definition] = None
                    continue
                for place in self._bindings(definition, position):
                    self._distance.setdefault(place, distance)
                    if not self._include(place, position, strong=definition in self._strong):
                        self.cut[definition] = None
            grown = self._retain_reached() or self._include_set_ups()
            if not grown and not self._include_registrations(list(seeds)):
                return

    # --- statements ---

    def _include(self, place: Place, position: int | None, *, seed: bool = False, strong: bool = True) -> bool:
        """Returns False if the limit excludes the statement."""
        if place not in self.included:
            statement = self.statement(place)
            lines = statement.last_line - statement.first_line + 2
            parts = self.parts.get(place)
            if parts is None and isinstance(statement.node, ast.ClassDef):
                parts = self._new_parts(place, ())
                parts.whole = seed or strong or self.whole_classes
            if parts is not None:
                parts.refresh(self._own_attributes, self._attributes)
                lines = parts.retained_lines + 2
            if lines > self.lines_left and not seed:
                return False
            if parts is not None:
                self.parts[place] = parts
            self.lines_left -= lines
            self._retain(place)
        elif strong and place in self.parts and not self.parts[place].whole:
            parts = self.parts[place]
            if parts.missing_lines > self.lines_left and not parts.roots:
                return False
            parts.whole = True
        if (place, position) not in self._followed:
            self._followed.add((place, position))
            self._follow(place, position)
        return True

    def _new_parts(self, place: Place, roots: Collection[ast.stmt]) -> ClassParts:
        lines, node = self.program.texts[place.path].split("\n"), self.statement(place).node
        assert isinstance(node, ast.ClassDef)
        return ClassParts(node, roots, lines, self._foreign_names(place.path), self.ready_members.get(place, ()))

    def _foreign_names(self, path: str) -> frozenset[str]:
        """Returns the names that a module imports from outside the repository."""
        if path not in self._foreign:
            imported = {bound_name(a) for s in self.scope(path).statements for n, _ in s.imports for a in n.names}
            found = {name for name in imported if isinstance(self.program.lookup(path, name), External)}
            self._foreign[path] = frozenset(found)
        return self._foreign[path]

    def _retain_reached(self) -> bool:
        """Keeps more parts of the included classes if other parts of the slice access their attributes."""
        grown = False
        for place, parts in list(self.parts.items()):
            before = parts.retained_lines
            if place in self.included and parts.refresh(self._own_attributes, self._attributes):
                self.lines_left -= parts.retained_lines - before
                self._retain(place)
                for position in [p for at, p in self._followed if at == place]:
                    self._follow(place, position)
                grown = True
        return grown

    def _retain(self, place: Place) -> None:
        """Records the references in the kept part of a statement."""
        statement, parts = self.statement(place), self.parts.get(place)
        self.nested[place] = [n for n in self._nested_imports(place, statement) if self.holds(place, n.node.lineno)]
        self.included[place] = [r for r in self._references(place, statement) if self.holds(place, r.use.line)]
        foreign = self._foreign_names(place.path)
        found = mentions(statement.node, (), foreign) if parts is None else parts.mentions
        self._own_attributes |= found.own
        self._attributes |= found.other

    def holds(self, place: Place, line: int) -> bool:
        """Returns whether this line of an included statement is kept."""
        parts = self.parts.get(place)
        return parts is None or parts.holds(line)

    def _references(self, place: Place, statement: Statement) -> Iterator[Reference]:
        for use in statement.uses:
            if not use.local or self.program.local_is_plain(place.path, use):
                yield self.program.reference(place.path, use)

    def _follow(self, place: Place, position: int | None) -> None:
        statement, parts = self.statement(place), self.parts.get(place)
        weak = parts.inherited if parts is not None and not parts.whole else frozenset()
        for use, target, _ in self.included[place]:
            at = place.index if use.immediate else position
            inside = isinstance(target, Definition) and target.path == place.path
            itself = inside and use.name in statement.definite
            strong = not use.annotates and id(use.node) not in weak and not itself
            aside = use.annotates or (parts is not None and parts.sets_up(use.line))
            far = self._distance.get(place, 0) + (_FAR if aside else 1)
            self._need(target, at if inside else None, place.path, strong=strong, distance=far)
        for nested in self.nested[place]:
            for name in nested.names:
                for _, target in name if isinstance(name, tuple) else ():
                    self._need(target, None, place.path)
        starred = self.program.rebound_stars(place.path).get(place.index, {})
        near = self._distance.get(place, 0)
        for bound in statement.binds | statement.globals_written | starred.keys():
            own = Definition(place.path, bound)
            if self.program.lookup(place.path, bound) == own:
                self._need(own, position, place.path, strong=False, distance=near)

    def _need(self, target: Target, position: int | None, path: str, *, strong: bool = True, distance: int = 1) -> None:
        if isinstance(target, Definition):
            if not self._repeated(target.path):
                position = None
            stronger = strong and target not in self._strong
            if stronger:
                self._strong.add(target)
            if (target, position) not in self._seen or stronger:
                self._seen.add((target, position))
                heapq.heappush(self._queue, (distance, next(self._count), target, position))
        elif isinstance(target, External):
            self.externals.setdefault(target, path)
        elif isinstance(target, RepositoryModule):
            self._need_module(target.path)
        elif isinstance(target, Star):
            self.stars[target.path] = None
        elif isinstance(target, Builtin):
            self.builtins.add(target.name)
        else:
            self.missing.setdefault(target.name, target.reason)

    def _need_module(self, path: str) -> None:
        """Includes a module that is used as a value. It becomes a namespace of all names that the module defines or
        re-exports."""
        if path in self.namespaces:
            return
        members = self.namespaces[path] = {}
        scope = self.program.scope(path)
        for name, indices in scope.bindings.items() if scope else ():
            if scope and name != "*" and not all(scope.statements[i].guarded for i in indices):
                target = self.program.lookup(path, name)
                if isinstance(target, Definition) and not name.startswith("__"):
                    members[name] = target
                    self._need(target, None, path)

    def _repeated(self, path: str) -> bool:
        """Returns whether a name's value depends on the position in the module."""
        if path not in self._repeats:
            scope = self.scope(path)
            self._repeats[path] = (
                any(len(i) > 1 for i in scope.bindings.values())
                or any(changed_names(s) for s in scope.statements)
                or bool(self.program.rebound_stars(path))
            )
        return self._repeats[path]

    def _bindings(self, definition: Definition, position: int | None) -> list[Place]:
        """Returns the statements that may have bound a name's value at statement `position` (or at the end of the
        module), and the statements that may have changed this value."""
        scope = self.scope(definition.path)
        every = self.program.bindings(definition.path, definition.name)
        indices = [i for i in every if not scope.statements[i].guarded] or list(every)
        if not indices:
            return [Place(definition.path, s.index) for s in scope.statements if definition.name in s.globals_written]
        end = len(scope.statements) if position is None else position
        before = [i for i in indices if i < end] or indices
        reaching: list[int] = []
        stars = self.program.rebound_stars(definition.path)
        for index in reversed(before):
            reaching.append(index)
            if definition.name in scope.statements[index].definite or index in stars:
                break
        set_ups = [
            s.index
            for s in scope.statements
            if not s.guarded and reaching[-1] < s.index < end and definition.name in changed_names(s)
        ]
        return [Place(definition.path, i) for i in sorted({*reaching, *set_ups})]

    def _include_set_ups(self) -> bool:
        """Includes statements that configure an imported package, such as `jax.config.update(…)`, from modules that use
        it."""
        grown = False
        used = {(p.path, r.target) for p, references in self.included.items() for r in references}
        for path in {p.path for p in self.included}:
            for statement in self.scope(path).statements:
                place = Place(path, statement.index)
                if place in self.included or statement.guarded or statement.binds:
                    continue
                roots = {self.program.lookup(path, name) for name in changed_names(statement)}
                outside = {r for r in roots if isinstance(r, External) and r.module != "sys"}
                if outside and all((path, r) in used for r in outside) and is_set_up(statement.node):
                    grown = self._include(place, statement.index) or grown
        return grown

    def _include_registrations(self, seeds: Sequence[Place]) -> bool:
        """Includes statements that fill registries read by the slice. On import, such a statement calls a function that
        writes to the registry, or defines a function or class decorated with such a function."""
        read: set[Definition] = set()
        for place, references in self.included.items():
            statement = self.statement(place)
            filled = names_stored_by_functions(statement) | changed_names(statement) | statement.binds
            for use, target, _ in references:
                if isinstance(target, Definition) and use.name not in filled:
                    read.add(target)
        writers = {
            Definition(registry.path, name)
            for registry in read
            for statement in self.scope(registry.path).statements
            if registry.name in names_stored_by_functions(statement)
            for name in statement.binds
        }
        if not writers:
            return False
        grown = False
        for path in self._imported_by(seeds):
            for statement in self.scope(path).statements:
                place = Place(path, statement.index)
                if place in self.included or statement.guarded or not may_register(statement.node):
                    continue
                called = (self.program.reference(path, u).target for u in statement.uses if u.immediate and not u.local)
                if any(target in writers for target in called):
                    grown = self._include(place, statement.index) or grown
        return grown

    def _imported_by(self, seeds: Sequence[Place]) -> list[str]:
        """Returns the modules that run when the seeds' modules are imported."""
        modules: dict[str, None] = {}
        queue = deque(path for seed in seeds for path in self.program.with_parents(seed.path))
        while queue:
            path = queue.popleft()
            scope = self.program.scope(path) if path not in modules else None
            if scope is not None:
                modules[path] = None
                for statement in scope.statements:
                    for node, binding_scope in statement.imports:
                        if binding_scope.kind != "function" and not statement.guarded:
                            queue += self.program.modules_run_by(path, node)
        return list(modules)

    # --- imports inside statements ---

    def _nested_imports(self, place: Place, statement: Statement) -> Iterator[NestedImport]:
        for node, scope in statement.imports:
            names: list[Plan] = []
            for alias in node.names:
                if isinstance(node, ast.ImportFrom) and alias.name == "*":
                    inside = self.program.resolve(place.path, imported_module(node), "*")
                    starred = self.program.rebound_stars(place.path).get(place.index, {})
                    names.append(alias if inside is None else tuple(starred.items()))
                    continue
                target = self.program.imported(place.path, node, alias)
                names.append(self._planned(place, scope, bound_name(alias), target, alias))
            yield NestedImport(node, scope, tuple(names))

    def _planned(self, place: Place, scope: Scope, bound: str, target: Target, alias: ast.alias) -> Plan:
        if scope.kind == "module":
            if isinstance(target, External | Missing):
                return alias
            own = self.program.lookup(place.path, bound) == Definition(place.path, bound)
            return ((bound, target),) if own else ()
        if isinstance(target, Missing):
            return alias
        if scope.kind == "function" and bound not in scope.others and bound not in scope.declared_global:
            every = {self.program.imported(place.path, n, a) for n, a in scope.imported.get(bound, [])}
            if len(every) == 1 and isinstance(target, Definition | RepositoryModule):
                return ()
        if isinstance(target, External) and is_direct(target, alias):
            return alias
        return ((bound, target),)

    # --- order ---

    def order(self, seeds: Sequence[Place]) -> list[Place | str]:
        """Returns the included statements in the order in which importing the seeds' modules would run them. After a
        module that became a namespace, the list contains the module's path."""
        out: list[Place | str] = []
        started: set[str] = set()
        by_path: dict[str, set[int]] = {}
        for place in self.included:
            by_path.setdefault(place.path, set()).add(place.index)

        def run(path: str) -> None:
            for module in self.program.with_parents(path):
                if module in started:
                    continue
                started.add(module)
                if self.program.scope(module) is None:
                    continue
                for statement in self.scope(module).statements:
                    for node, scope in statement.imports:
                        if scope.kind != "function" and not is_type_checking(statement.node):
                            for inner in self.program.modules_run_by(module, node):
                                run(inner)
                    if statement.index in by_path.get(module, ()):
                        place = Place(module, statement.index)
                        for inner in self._run_at_once(place):
                            if inner not in started:
                                run(inner)
                        out.append(place)
                if module in self.namespaces:
                    out.append(module)

        for place in (*seeds, *self.included):
            run(place.path)
        out += [path for path in self.namespaces if path not in out]
        return out

    def _run_at_once(self, place: Place) -> list[str]:
        """Returns the modules whose definitions a statement may use when it runs, directly or through functions that it
        calls."""
        stack = [r.target for r in self.included[place] if r.use.immediate]
        seen: set[Target] = set()
        paths: dict[str, None] = {}
        while stack:
            target = stack.pop()
            if target in seen or not isinstance(target, Definition):
                continue
            seen.add(target)
            paths[target.path] = None
            for index in self.program.bindings(target.path, target.name):
                stack += [r.target for r in self.included.get(Place(target.path, index), [])]
        return list(paths)
