"""The parts of a class or function that a slice needs: the requested and reached methods, the constructor statements
that set attributes they use, and the signatures of the other methods as comments."""

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence

from xkg.build.slicing.function_parts import (
    FunctionParts,
    Gap,
    Mentions,
    Scoped,
    above_blanks,
    above_comments,
    chain_root,
    first_line,
    gaps,
    has_own_lines,
    heading_end,
    indent_of,
    last_line,
    mentions,
)
from xkg.build.slicing.outlines import signature
from xkg.build.slicing.scoping.bindings import Function

_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "setup"})
# Framework methods that reach every attribute.
_ALL_ATTRIBUTES = frozenset("__dict__ parameters named_parameters state_dict children modules named_modules".split())
_LONGEST = 160
_LONG_TEXT = 3  # lines
_MADE_REACHABLE = "not in the repository: it makes this function reachable here"
# If attributes depend on one another in a longer chain, the whole class is kept.
_MOST_ROUNDS = 40
# The maximum number of methods that a constructor calls for set-up; no hand-written class has more.
_MOST_CALLS = 50


class Parts:
    """The kept part of a top-level class or function: `whole`, or the needed inner statements (`roots`) and everything
    that they reach, except methods that are `ready` elsewhere. `gaps` are the omitted lines, in order."""

    def __init__(
        self,
        node: ast.stmt,
        roots: Collection[ast.stmt],
        lines: Sequence[str],
        foreign: Collection[str],
        ready: Collection[ast.stmt] = (),
    ) -> None:
        self.node = node
        self.roots = set(roots)
        self._ready = set(ready) - self.roots
        # Statements that set values for others; their own dependencies are not followed.
        self._context: set[ast.stmt] = set()
        self.whole = False
        self.gaps: tuple[Gap, ...] = (Gap(first_line(node), last_line(node), ""),)
        self.mentions = Mentions()
        self._lines = lines
        self._foreign = foreign
        self._functions: dict[ast.stmt, FunctionParts] = {}
        self._found: dict[ast.stmt, Mentions] = {}
        self._stores: dict[ast.stmt, frozenset[str]] = {}
        self._calls: dict[ast.stmt, frozenset[str]] = {}
        self._stored_by: dict[ast.stmt, set[str]] = {}
        self._methods: dict[str, list[Function]] = {}
        for member in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(member, Function) and member not in self._ready:
                self._methods.setdefault(member.name, []).append(member)

    def refresh(self, own: Collection[str], other: Collection[str]) -> bool:
        """Keeps whatever the mentioned attributes reach, of objects of the slice's classes (`own`) or of any object
        (`other`). Returns whether more is kept than before."""
        before = self.retained_lines
        self.gaps = () if self.whole else tuple(self._gaps(set(own), set(other)))
        if self.whole:
            self.gaps, self.mentions = (), self._mentions([self.node])
        return self.retained_lines > before

    @property
    def retained_lines(self) -> int:
        return last_line(self.node) - first_line(self.node) + 1 - self.missing_lines

    @property
    def missing_lines(self) -> int:
        """The number of omitted lines."""
        return sum(gap.last - gap.first + 1 for gap in self.gaps)

    def sets_up(self, line: int) -> bool:
        """Whether a line is in a constructor that is not a root: it only sets up the kept methods."""
        body: list[ast.stmt] = getattr(self.node, "body", [])
        constructors = [m for m in body if isinstance(m, Function) and m.name in _CONSTRUCTORS and m not in self.roots]
        return any(first_line(m) <= line <= last_line(m) for m in constructors)

    @property
    def inherited(self) -> frozenset[int]:
        """The identities of the names in the list of bases."""
        bases: list[ast.expr] = getattr(self.node, "bases", [])
        return frozenset(id(name) for base in bases for name in ast.walk(base) if isinstance(name, ast.Name))

    def holds(self, line: int) -> bool:
        """Whether a line of the file is kept."""
        return not any(gap.first <= line <= gap.last for gap in self.gaps)

    def is_context(self, line: int) -> bool:
        """Whether a line is kept only because it sets a value for others. Its own dependencies are not needed."""
        around = [s for s in self._context if first_line(s) <= line <= heading_end(s)]
        wanted = [s for s in self.roots if not isinstance(s, Scoped) and first_line(s) <= line <= heading_end(s)]
        return bool(around) and not wanted

    # --- what is needed ---

    def _gaps(self, own: set[str], other: set[str]) -> Iterator[Gap]:
        if not isinstance(self.node, ast.ClassDef):
            kept = self._around_roots(self.node)
            self.mentions = self._mentions(kept)
            yield from self._in_function(self.node, kept)
            return
        found = Mentions()
        for _ in range(_MOST_ROUNDS):
            self._follow_calls(own, other, found)
            kept = self._members(own | other if found.escapes else own)
            more = self._mentions(kept)
            if more.dynamic:
                break
            if more.own <= own and more.other <= other and more.escapes <= found.escapes:
                self.mentions = more
                yield from self._left_out(kept)
                return
            found = more
            own |= found.own
            other |= found.other
        self.whole = True

    def _follow_calls(self, own: set[str], other: set[str], found: Mentions) -> None:
        """Adds everything that the reached methods mention, in time linear in the class."""
        pending = list(own | other if found.escapes else own)
        seen = set(pending)
        while pending:
            for method in self._methods.get(pending.pop(), ()):
                if method.name in _CONSTRUCTORS or method in self.roots:
                    continue
                more = self._mentions_of(method, method.body, self._selves(method))
                found.add(more)
                own |= more.own
                other |= more.other
                new = (more.own | more.other if found.escapes else more.own) - seen
                seen |= new
                pending += new

    def _members(self, needed: set[str]) -> set[ast.stmt]:
        """The kept members of the class, and the kept statements of members that are kept in part."""
        assert isinstance(self.node, ast.ClassDef)
        functions = [m for m in self.node.body if isinstance(m, Function) and m not in self._ready]
        kept: set[ast.stmt] = set()
        partly: list[Function] = []
        for member in self.node.body:
            if member in self._ready:
                continue
            if member in self.roots:
                kept.add(member)
            elif isinstance(member, Function):
                if self._roots_in(member):
                    kept |= {member, *self._around_roots(member)}
                elif member.name in _CONSTRUCTORS:
                    partly.append(member)
                elif member.name in needed:
                    kept.add(member)
            elif not isinstance(member, ast.Assign) or self._bound_in_body(member) & needed:
                kept.add(member)
        kept |= self._used_in_body(kept)
        assigned = {name for f in partly for name in self._stored(f)}
        assigned |= {name for m in kept if isinstance(m, Function) for name in self._stored(m)}
        fields = {name for m in kept if not isinstance(m, Function) for name in self._bound_in_body(m)}
        names = {f.name for f in functions}
        orphans = needed - assigned - fields - names
        # Attributes that only other methods assign.
        partly += [f for f in functions if f not in kept and f not in partly and self._stored(f) & orphans]
        for function in partly:
            statements = self._assigning(function, needed)
            if statements:
                kept |= {function, *statements}
        return kept

    def _assigning(self, function: Function, needed: set[str]) -> set[ast.stmt]:
        """The statements of a method that assign or change the needed attributes, and their dependencies."""
        selves = self._selves(function)
        if needed & _ALL_ATTRIBUTES:
            return set(self._function(function).statements)

        def assigns(statement: ast.stmt) -> bool:
            if isinstance(statement, Function | ast.ClassDef):
                return False
            if statement not in self._stores:
                self._stores[statement] = frozenset(_stored_attributes([statement], selves))
            if self._stores[statement] & needed:
                return True
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
                return False
            call = statement.value
            if isinstance(call.func, ast.Attribute) and call.func.attr in _CONSTRUCTORS:
                return True  # super().__init__()
            found = mentions([call], selves, self._foreign)
            inner = (
                next(iter(self._methods.get(call.func.attr, ())), None)
                if isinstance(call.func, ast.Attribute)
                else None
            )
            if inner is not None and isinstance(chain_root(call.func), ast.Name) and inner is not function:
                return bool(self._stored(inner) & needed)
            return bool(found.own & needed)

        return self._function(function).needed((), assigns)

    def _used_in_body(self, kept: Collection[ast.stmt]) -> set[ast.stmt]:
        """Members that the class body needs when it runs: a decorator, a default, an alias."""
        body: list[ast.stmt] = getattr(self.node, "body", [])
        found: set[ast.stmt] = set()
        for _ in range(_MOST_ROUNDS):
            both = found.union(kept)
            names = {n.id for m in both for part in _at_once(m) for n in ast.walk(part) if isinstance(n, ast.Name)}
            more = {m for m in body if m not in both and names & self._bound_in_body(m)}
            if not more:
                return found
            found |= more
        return set(body)

    def _roots_in(self, member: ast.stmt) -> list[ast.stmt]:
        first, last = first_line(member), last_line(member)
        return [r for r in self.roots if r is not member and first <= r.lineno and last_line(r) <= last]

    def _around_roots(self, function: ast.stmt) -> set[ast.stmt]:
        """The statements of a function that its roots depend on."""
        parts = self._function(function)
        roots = self._roots_in(function)
        holding = [s for s in parts.statements if s in roots or (isinstance(s, Scoped) and self._roots_in(s))]
        names = {s.name for s in holding if isinstance(s, Function)}
        lines = [s for s in holding if not isinstance(s, Scoped)]
        around = parts.near(lines) if lines else set()
        self._context |= around.difference(lines)
        inner = [s for s in holding if isinstance(s, Scoped)]
        return (
            around
            | (parts.needed(inner) if inner else set())
            | {s for s in function_body(function) if _returned(s) in names}
        )

    def _bound_in_body(self, member: ast.stmt) -> set[str]:
        if isinstance(member, Function | ast.ClassDef):
            return {member.name}
        return {n.id for n in ast.walk(member) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

    def _stored(self, function: Function) -> set[str]:
        """The attributes that a method assigns, directly or through methods that it calls as statements."""
        if function in self._stored_by:
            return self._stored_by[function]
        stored: set[str] = set()
        pending, seen = [function], {function.name}
        while pending and len(seen) <= _MOST_CALLS:
            current = pending.pop()
            stored |= self._own_stores(current)
            for name in self._called_as_statements(current) - seen:
                seen.add(name)
                pending += self._methods.get(name, ())
        self._stored_by[function] = stored
        return stored

    def _own_stores(self, function: Function) -> frozenset[str]:
        if function not in self._stores:
            self._stores[function] = frozenset(_stored_attributes(function.body, self._selves(function)))
        return self._stores[function]

    def _called_as_statements(self, function: Function) -> frozenset[str]:
        if function not in self._calls:
            calls = (n.value for n in ast.walk(function) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call))
            self._calls[function] = frozenset(c.func.attr for c in calls if isinstance(c.func, ast.Attribute))
        return self._calls[function]

    def _function(self, node: ast.stmt) -> FunctionParts:
        assert isinstance(node, Function)
        if node not in self._functions:
            self._functions[node] = FunctionParts(node, self._selves(node))
        return self._functions[node]

    def _selves(self, function: ast.stmt) -> frozenset[str]:
        """The names of the object in a method: its first parameter and the class."""
        if not isinstance(self.node, ast.ClassDef):
            return frozenset()
        own = {self.node.name}
        if isinstance(function, Function):
            marks = {getattr(mark, "id", "") for mark in function.decorator_list}
            first = [*function.args.posonlyargs, *function.args.args][:1]
            own |= {a.arg for a in first} if "staticmethod" not in marks else set()
        return frozenset(own)

    def _mentions(self, kept: Iterable[ast.AST]) -> Mentions:
        """Everything that the kept statements mention. Of a method that is kept in part, only the kept statements
        count."""
        found = Mentions()
        chosen = {node for node in kept if isinstance(node, ast.stmt)}
        for member in getattr(self.node, "body", ()) if isinstance(self.node, ast.ClassDef) else [self.node]:
            selves = self._selves(member)
            if self.node in chosen:
                found.add(self._mentions_of(member, [member], selves))
            elif isinstance(member, Function):
                inner = self._functions.get(member)
                parts = [s for s in inner.statements if s in chosen] if inner is not None else []
                if parts:
                    parts = [s for s in parts if s not in self._context]
                    for part in parts:
                        heading = [c for c in ast.iter_child_nodes(part) if not isinstance(c, ast.stmt)]
                        whole = isinstance(part, Function | ast.ClassDef)
                        found.add(mentions([part] if whole else heading, selves, self._foreign))
                elif member in chosen:
                    found.add(self._mentions_of(member, member.body, selves))
            elif member in chosen:
                found.add(self._mentions_of(member, [member], selves))
        return found

    def _mentions_of(self, member: ast.stmt, nodes: Sequence[ast.AST], selves: frozenset[str]) -> Mentions:
        if member not in self._found:
            self._found[member] = mentions(nodes, selves, self._foreign)
        return self._found[member]

    # --- what is left out ---

    def _left_out(self, kept: Collection[ast.stmt]) -> Iterator[Gap]:
        assert isinstance(self.node, ast.ClassDef)
        body = self.node.body
        remaining = [m for m in body if m in kept or not has_own_lines(m, self._lines) or _is_text(m)]
        if not any(isinstance(m, Function) for m in remaining):  # only its name is used
            remaining = [m for m in remaining if not _is_long_text(m) or not has_own_lines(m, self._lines)]
        before, follows = first_line(self.node), False
        for member in body:
            if member not in remaining:
                indent = indent_of(member, self._lines)
                first = above_comments(first_line(member), before, self._lines)
                first = above_blanks(first, before, self._lines) if follows else first
                alone = f"{indent}pass\n" if not remaining and member is body[-1] else ""
                text = "its documentation" if _is_text(member) else self._signature(member)
                yield Gap(first, last_line(member), f"{alone}{indent}# left out: {text}")
            elif isinstance(member, Function) and member not in self.roots:
                inner = self._functions.get(member)
                chosen = set(inner.statements) & set(kept) if inner is not None else set()
                if chosen:
                    yield from self._in_function(member, chosen)
            before, follows = last_line(member), member not in remaining

    def _in_function(self, function: ast.stmt, kept: Collection[ast.stmt]) -> Iterator[Gap]:
        """The gaps of a function that keeps only `kept`. If an inner function is a root, the function returns it, so
        that callers can reach it."""
        found = list(gaps(function, kept, self._lines))
        returned = {_returned(statement) for statement in function_body(function)}
        for root in self._roots_in(function):
            is_direct = root in self._function(function).statements and has_own_lines(root, self._lines)
            if isinstance(root, Function) and is_direct and root.name not in returned:
                indent, last = indent_of(root, self._lines), last_line(root)
                found.append(Gap(last + 1, last, f"\n{indent}return {root.name}  # {_MADE_REACHABLE}"))
        yield from sorted(found, key=lambda gap: (gap.first, gap.last))

    def _signature(self, member: ast.stmt) -> str:
        text = signature(member) if isinstance(member, Function) else " ".join(ast.unparse(member).split())
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def function_body(function: ast.stmt) -> list[ast.stmt]:
    return function.body if isinstance(function, Function) else []


def _stored_attributes(nodes: Iterable[ast.AST], selves: Collection[str]) -> set[str]:
    """The object's attributes that code assigns or stores into; `register_buffer("a", …)` assigns `a`."""
    stored: set[str] = set()
    for node in (inner for each in nodes for inner in ast.walk(each)):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            first: ast.expr = node
            while isinstance(first, ast.Attribute | ast.Subscript):
                owner = first.value
                if isinstance(first, ast.Attribute) and isinstance(owner, ast.Name) and owner.id in selves:
                    stored.add(first.attr)
                first = owner
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.args[0].value
            owner_name = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(name, str) and isinstance(owner_name, ast.Name) and owner_name.id in selves:
                stored.add(name)
    return stored


def _at_once(member: ast.stmt) -> list[ast.AST]:
    """The parts of a member that run with the class body."""
    if isinstance(member, Function):
        return [*member.decorator_list, *member.args.defaults, *(d for d in member.args.kw_defaults if d is not None)]
    if isinstance(member, ast.ClassDef):
        return [*member.decorator_list, *member.bases]
    return [member]


def _is_text(member: ast.stmt) -> bool:
    return isinstance(member, ast.Expr) and isinstance(member.value, ast.Constant)


def _is_long_text(member: ast.stmt) -> bool:
    return _is_text(member) and last_line(member) - member.lineno >= _LONG_TEXT


def _returned(statement: ast.stmt) -> str:
    """The name that a statement returns, '' for any other statement."""
    value = statement.value if isinstance(statement, ast.Return) else None
    return value.id if isinstance(value, ast.Name) else ""
