"""Selects the class members that a slice needs: the requested members, everything that they reach, the constructors,
and the members that set attributes read by any of these. All other members are replaced with comments showing their
signatures."""

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xkg.build.slicing.outlines import signature
from xkg.build.slicing.scoping.bindings import Function
from xkg.sandbox.evidence.python_ast import first_line

_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "setup"})
_LONGEST = 160


@dataclass(frozen=True)
class Gap:
    """The omitted lines `first` to `last` of a file, and the replacement text."""

    first: int
    last: int
    text: str


@dataclass
class Mentions:
    """The attributes that code reads or changes. `own` contains attributes of the object itself (`self.a`), and `other`
    contains attributes of other objects. `escapes` is True if the code passes the object itself to other code.
    `dynamic` is True if an attribute's name is computed."""

    own: set[str] = field(default_factory=set)
    other: set[str] = field(default_factory=set)
    escapes: bool = False
    dynamic: bool = False

    def add(self, more: "Mentions") -> None:
        self.own |= more.own
        self.other |= more.other
        self.escapes = self.escapes or more.escapes
        self.dynamic = self.dynamic or more.dynamic


def mentions(node: ast.AST, selves: Collection[str], foreign: Collection[str]) -> Mentions:
    """Returns the attributes that a node mentions. `selves` contains the names that refer to the object itself. Ignores
    attributes of `foreign` names, which are imported packages."""
    found = Mentions()
    bases: set[int] = set()
    every = list(ast.walk(node))
    for inner in every:
        if isinstance(inner, ast.Attribute):
            bases.add(id(inner.value))
            owner, root = inner.value, _root(inner)
            if isinstance(root, ast.Name) and root.id in foreign:
                continue
            (found.own if isinstance(owner, ast.Name) and owner.id in selves else found.other).add(inner.attr)
        elif isinstance(inner, ast.Call):
            if isinstance(inner.func, ast.Name) and inner.func.id == "super":
                bases.update(map(id, inner.args))
            for value in (*inner.args, *(k.value for k in inner.keywords)):
                if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value.isidentifier():
                    found.own.add(value.value)
                    found.other.add(value.value)
            if isinstance(inner.func, ast.Name) and inner.func.id in ("getattr", "setattr", "hasattr", "vars"):
                on_self = bool(inner.args) and isinstance(inner.args[0], ast.Name) and inner.args[0].id in selves
                named = len(inner.args) > 1 and isinstance(inner.args[1], ast.Constant)
                found.dynamic = found.dynamic or (on_self and not named)
    found.escapes = any(isinstance(n, ast.Name) and n.id in selves and id(n) not in bases for n in every)
    return found


class ClassParts:
    """The retained part of a top-level class. Keeps the whole class if `whole` is True, or else only the members in
    `roots` and everything that they reach, except members in `ready`.

    `gaps` contains the omitted lines, in order. `mentions` contains the attributes mentioned in the kept part."""

    def __init__(
        self,
        node: ast.ClassDef,
        roots: Collection[ast.stmt],
        lines: Sequence[str],
        foreign: Collection[str],
        ready: Collection[ast.stmt] = (),
    ) -> None:
        self.node = node
        self.roots = set(roots)
        self.whole = False
        self.gaps: tuple[Gap, ...] = (Gap(first_line(node), last_line(node), ""),)
        self.mentions = Mentions()
        self._lines = lines
        self._foreign = foreign
        self._found: dict[ast.stmt, Mentions] = {}
        self._by_name: dict[str, list[ast.stmt]] = {}
        self._storing: dict[str, list[ast.stmt]] = {}
        self._members = [member for member in node.body if member in self.roots or member not in ready]
        for member in self._members:
            for name in _bound(member):
                self._by_name.setdefault(name, []).append(member)
            for name in _stored(member, self._selves(member)) if isinstance(member, Function) else ():
                self._storing.setdefault(name, []).append(member)

    def refresh(self, own: Collection[str], other: Collection[str]) -> bool:
        """Keeps everything reached through the mentioned attributes. `own` contains attributes that the slice accesses
        on instances of its own classes, and `other` contains attributes that it accesses on any object. Returns whether
        the kept part has grown."""
        before = self.retained_lines
        kept = None if self.whole else self._reached(own, other)
        if kept is None:
            self.whole, self.gaps, self.mentions = True, (), Mentions()
            for member in self.node.body:
                self.mentions.add(self._mentions_of(member))
        else:
            self.gaps = tuple(self._left_out(kept))
        return self.retained_lines > before

    @property
    def retained_lines(self) -> int:
        return last_line(self.node) - first_line(self.node) + 1 - self.missing_lines

    @property
    def missing_lines(self) -> int:
        """Returns the number of omitted lines."""
        return sum(gap.last - gap.first + 1 for gap in self.gaps)

    def holds(self, line: int) -> bool:
        """Returns whether this line of the file is kept."""
        return not any(gap.first <= line <= gap.last for gap in self.gaps)

    def sets_up(self, line: int) -> bool:
        """Returns whether a line is in a constructor that was not requested, and therefore only sets up the requested
        methods."""
        constructors = [m for m in self._members if _is_constructor(m) and m not in self.roots]
        return any(first_line(m) <= line <= last_line(m) for m in constructors)

    @property
    def inherited(self) -> frozenset[int]:
        """Returns the ids of the name nodes in the base classes."""
        return frozenset(id(n) for base in self.node.bases for n in ast.walk(base) if isinstance(n, ast.Name))

    def _reached(self, own: Collection[str], other: Collection[str]) -> set[ast.stmt] | None:
        """Returns the members to keep, or None if a member accesses attributes by names computed at run time."""
        found, kept, done = Mentions(set(own), set(other)), set[ast.stmt](), set[str]()
        waiting = [
            member
            for member in self._members
            if member in self.roots or _is_constructor(member) or not isinstance(member, Function | ast.Assign)
        ]
        while waiting:
            for member in waiting:
                if member not in kept:
                    kept.add(member)
                    found.add(self._mentions_of(member))
                    found.own |= {n.id for n in _run_with_class(member) if n.id in self._by_name}
            needed = (found.own | found.other if found.escapes else found.own) - done
            done |= needed
            waiting = [m for name in needed for m in self._by_name.get(name, ()) if m not in kept]
            if not waiting:
                # These attributes are set only by other methods.
                alone = [n for n in done if n not in self._by_name and kept.isdisjoint(self._storing.get(n, ()))]
                waiting = [m for name in alone for m in self._storing.get(name, ())]
        self.mentions = found
        return None if found.dynamic else kept

    def _mentions_of(self, member: ast.stmt) -> Mentions:
        if member not in self._found:
            self._found[member] = mentions(member, self._selves(member), self._foreign)
        return self._found[member]

    def _selves(self, member: ast.stmt) -> frozenset[str]:
        """Returns the names that refer to the object in a member: a method's first parameter and the class."""
        own = {self.node.name}
        if isinstance(member, Function):
            marks = {getattr(mark, "id", "") for mark in member.decorator_list}
            first = [*member.args.posonlyargs, *member.args.args][:1]
            own |= {a.arg for a in first} if "staticmethod" not in marks else set()
        return frozenset(own)

    def _left_out(self, kept: Collection[ast.stmt]) -> Iterator[Gap]:
        body = self.node.body
        remaining = [m for m in body if m in kept or not has_own_lines(m, self._lines)]
        before, follows = first_line(self.node), False
        for member in body:
            if member not in remaining:
                line = self._lines[first_line(member) - 1]
                indent = line[: len(line) - len(line.lstrip())]
                first = self._above(first_line(member), before, "#")
                first = self._above(first, before, "") if follows else first
                alone = f"{indent}pass\n" if not remaining and member is body[-1] else ""
                yield Gap(first, last_line(member), f"{alone}{indent}# left out: {_outline(member)}")
            before, follows = last_line(member), member not in remaining

    def _above(self, first: int, before: int, mark: str) -> int:
        """Returns the line where the comments directly above line `first` start, but only looks at lines after
        `before`. If the mark is '', looks for empty lines instead of comments."""
        while first - 1 > before and self._lines[first - 2].strip()[:1] == mark:
            first -= 1
        return first


def last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _root(node: ast.expr) -> ast.expr:
    """Returns the root of an expression, such as `a` for `a.b[i].c(x)`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def _is_constructor(member: ast.stmt) -> bool:
    return isinstance(member, Function) and member.name in _CONSTRUCTORS


def _bound(member: ast.stmt) -> set[str]:
    if isinstance(member, Function | ast.ClassDef):
        return {member.name}
    return {n.id for n in ast.walk(member) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _stored(method: ast.stmt, selves: Collection[str]) -> set[str]:
    """Returns the attributes that a method assigns on its object, such as `a` in `self.register_buffer("a", …)`."""
    stored: set[str] = set()
    for node in ast.walk(method):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name, ctx=ast.Store() | ast.Del()) if owner in selves:
                stored.add(name)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner)), args=[ast.Constant(value=str() as name), *_]
            ) if owner in selves:
                stored.add(name)
    return stored


def _run_with_class(member: ast.stmt) -> Iterator[ast.Name]:
    """Yields the names in the parts of a member that run with the class body: decorators, defaults, bases and
    aliases."""
    parts: Iterable[ast.AST] = [member]
    if isinstance(member, Function):
        parts = (*member.decorator_list, *member.args.defaults, *(d for d in member.args.kw_defaults if d is not None))
    elif isinstance(member, ast.ClassDef):
        parts = (*member.decorator_list, *member.bases)
    return (n for part in parts for n in ast.walk(part) if isinstance(n, ast.Name))


def has_own_lines(node: ast.stmt, lines: Sequence[str]) -> bool:
    """Returns whether a statement shares its lines only with comments."""
    head = lines[first_line(node) - 1].encode("utf-8", "surrogatepass")
    tail = lines[last_line(node) - 1].encode("utf-8", "surrogatepass")
    decorated = first_line(node) < node.lineno
    after = tail[node.end_col_offset or 0 :].strip()
    return (decorated or not head[: node.col_offset].strip()) and (not after or after.startswith(b"#"))


def _outline(member: ast.stmt) -> str:
    text = signature(member) if isinstance(member, Function) else " ".join(ast.unparse(member).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
