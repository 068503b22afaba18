"""The statements of a function that given statements depend on through names (Weiser, "Program Slicing", IEEE TSE
1984): those that bind or change a name that they use, with the conditions and loops around them."""

import ast
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xkg.build.slicing.scoping.bindings import Function

_LOGS = frozenset("debug error info log print warn warning".split())
_SUITES = ("body", "orelse", "finalbody")
# A gap's comment names what it sets and calls, up to this many names each.
_MOST_NAMED = 6
# Omitting fewer lines saves no more than the comment that replaces them.
_SHORT_GAP = 2  # lines
# The context around chosen lines grows step by step up to this limit.
_MOST_NEAR = 60  # lines
_MOST_TAKING_UP = 4
# Statements with their own scope, which are kept together.
Scoped = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


@dataclass(frozen=True)
class Gap:
    """Omitted lines `first` to `last` of a file, and the text that replaces them. If `last` is less than `first`, the
    text is inserted after line `last`."""

    first: int
    last: int
    text: str


@dataclass
class Mentions:
    """The attributes that code reads or changes: `own` of its own object (`self.a`), `other` of any other. `escapes`:
    the object itself is passed on. `dynamic`: an attribute's name is computed."""

    own: set[str] = field(default_factory=set)
    other: set[str] = field(default_factory=set)
    escapes: bool = False
    dynamic: bool = False

    def add(self, more: "Mentions") -> None:
        self.own |= more.own
        self.other |= more.other
        self.escapes = self.escapes or more.escapes
        self.dynamic = self.dynamic or more.dynamic


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, including decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def heading_end(node: ast.stmt) -> int:
    """The last line of a statement; for a compound statement, of its heading."""
    inner = [statement for block in blocks(node) for statement in block] if _is_compound(node) else []
    return max(first_line(inner[0]) - 1, node.lineno) if inner else last_line(node)


def mentions(nodes: Sequence[ast.AST], selves: Collection[str], foreign: Collection[str]) -> Mentions:
    """`selves` are the names of the object itself. Attributes of `foreign` names (imported packages) do not count."""
    found = Mentions()
    bases: set[int] = set()
    for node in (inner for each in nodes for inner in ast.walk(each)):
        if isinstance(node, ast.Attribute):
            bases.add(id(node.value))
            root = chain_root(node)
            if isinstance(root, ast.Name) and root.id in foreign:
                continue
            owner = node.value
            (found.own if isinstance(owner, ast.Name) and owner.id in selves else found.other).add(node.attr)
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "super":
                bases.update(map(id, node.args))
            for value in (*node.args, *(k.value for k in node.keywords)):
                if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value.isidentifier():
                    found.own.add(value.value)
                    found.other.add(value.value)
            if isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr", "hasattr", "vars"):
                on_self = bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id in selves
                named = len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
                found.dynamic = found.dynamic or (on_self and not named)
    found.escapes = any(
        isinstance(node, ast.Name) and node.id in selves and id(node) not in bases
        for each in nodes
        for node in ast.walk(each)
    )
    return found


def chain_root(node: ast.expr) -> ast.expr:
    """The first name of `a.b[i].c(x)`: `a`."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def statements_on(function: Function, lines: Sequence[range]) -> list[ast.stmt]:
    """The statements of a function, and headings of compound statements, with lines in one of these ranges. Includes
    statements that update an attribute (`self.bound *= 2`) that these set: the other half of the same step."""

    def is_on(node: ast.stmt) -> bool:
        return any(first_line(node) < each.stop and each.start <= heading_end(node) for each in lines)

    every = [node for node in FunctionParts(function).statements if not _is_docstring(node, function)]
    written = {name for node in every if is_on(node) for name in _attributes_written(node)}
    return [
        node
        for node in every
        if is_on(node) or (isinstance(node, ast.AugAssign) and not written.isdisjoint(_attributes_written(node)))
    ]


def _attributes_written(node: ast.stmt) -> set[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return {ast.unparse(target) for target in targets if isinstance(target, ast.Attribute)}


def blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The lists of statements directly in a compound statement or a definition."""
    for name in _SUITES:
        if inner := getattr(node, name, None):
            yield inner
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    for case in getattr(node, "cases", ()):
        yield case.body


class FunctionParts:
    """A function of which only the needed statements are kept. `selves` are the names of a method's own object:
    assigning one of its attributes does not change the others."""

    def __init__(self, function: Function, selves: Collection[str] = ()) -> None:
        self.function = function
        self._above: dict[ast.stmt, ast.stmt | None] = {}
        self.statements: list[ast.stmt] = []
        stack: list[tuple[ast.stmt, ast.stmt | None]] = [(s, None) for s in reversed(function.body)]
        while stack:
            statement, above = stack.pop()
            self._above[statement] = above
            self.statements.append(statement)
            if not isinstance(statement, Scoped):
                stack += reversed([(inner, statement) for block in blocks(statement) for inner in block])
        self._changing: dict[str, list[ast.stmt]] = {}
        for statement in self.statements:
            for name in _changed_names(statement, selves):
                self._changing.setdefault(name, []).append(statement)

    def needed(
        self, roots: Collection[ast.stmt], is_root: Callable[[ast.stmt], bool] = lambda _: False
    ) -> set[ast.stmt]:
        """The simple statements for which `is_root` holds, and everything that they depend on. Changes of a name after
        the last root do not count, unless all of them come later."""
        end = max((last_line(root) for root in roots), default=None)
        kept: set[ast.stmt] = set()
        pending = [*roots, *(s for s in self.statements if not _is_compound(s) and is_root(s))]
        names: set[str] = set()
        while pending:
            statement = pending.pop()
            if statement in kept:
                continue
            kept.add(statement)
            if isinstance(statement, ast.For | ast.AsyncFor | ast.While):
                pending += _jumps(statement)
            if (above := self._above.get(statement)) is not None:
                pending.append(above)
            for name in _names_read(statement) - names:
                names.add(name)
                changing = self._changing.get(name, [])
                is_later = end is None or (bool(changing) and changing[0].lineno > end)
                pending += [s for s in changing if is_later or end is None or s.lineno <= end]
        return kept

    def near(self, roots: Collection[ast.stmt]) -> set[ast.stmt]:
        """The context of `roots`: statements that fill the values they make (`a[i] = …`, `a = -a`), earlier statements
        that set what they read, assignments and returns that use their values, and the definitions that all of these
        read. It grows step by step while the whole is short, and includes the headings around it."""
        made = self._with_filling(roots)
        kept = self._with_headings(made)
        end = max(last_line(self._outermost_loop(each)) for each in made)
        fresh, lines = self._with_headings(self._setting(kept, end)) - kept, _lines_of(kept)
        kept |= fresh
        following = self._with_headings(self._with_filling(self._taking_up(made))) - kept
        fresh |= following
        kept |= following
        while fresh and lines + _lines_of(fresh) <= _MOST_NEAR:
            lines += _lines_of(fresh)
            fresh = self._with_headings(self._setting(fresh, end)) - kept
            if lines + _lines_of(fresh) <= _MOST_NEAR:
                kept |= fresh
        return self._with_short_gaps(kept)

    def _setting(self, statements: Collection[ast.stmt], end: int) -> set[ast.stmt]:
        """The statements up to line `end` that set values for others."""
        names = {name for statement in statements for name in _names_read(statement)}
        return {s for name in names for s in self._changing.get(name, ()) if s.lineno <= end}

    def _taking_up(self, made: Collection[ast.stmt]) -> list[ast.stmt]:
        """The first short assignments and returns after given statements that read their values."""
        names = {name for statement in made for name in _made_by(statement)}
        start = max(last_line(statement) for statement in made)
        found: list[ast.stmt] = [
            each
            for each in self.statements
            if each.lineno > start
            and isinstance(each, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return)
            and last_line(each) - each.lineno <= _SHORT_GAP
            and names & _names_read(each)
        ]
        return found[:_MOST_TAKING_UP]

    def _with_filling(self, statements: Collection[ast.stmt]) -> list[ast.stmt]:
        return [*statements, *(each for statement in statements for each in self._filling(statement))]

    def _outermost_loop(self, statement: ast.stmt) -> ast.stmt:
        """The outermost loop around a statement, because later statements in the loop run before it too; without a
        loop, the statement itself."""
        found, above = statement, self._above.get(statement)
        while above is not None:
            found = above if isinstance(above, ast.For | ast.AsyncFor | ast.While) else found
            above = self._above.get(above)
        return found

    def _with_short_gaps(self, kept: set[ast.stmt]) -> set[ast.stmt]:
        """`kept`, with runs of other statements in the same blocks that are too short to omit."""
        found = set(kept)
        holders = [self.function, *(each for each in kept if _is_compound(each))]
        for block in (b for holder in holders for b in blocks(holder)):
            for is_kept, run in itertools.groupby(block, key=kept.__contains__):
                short = [] if is_kept else list(run)
                if short and last_line(short[-1]) - first_line(short[0]) < _SHORT_GAP:
                    found.update(n for each in short for n in ast.walk(each) if n in self._above)
        return found

    def _filling(self, root: ast.stmt) -> Iterator[ast.stmt]:
        """The statements after `a = …` or `a[i] += …` that continue to compute `a`, until it is bound again."""
        for name in _made_by(root):
            for later in self._changing.get(name, ()):
                if later.lineno > last_line(root) and not isinstance(later, Scoped):
                    if _is_bound_in(later, name) and name not in _names_read(later):
                        break
                    if not isinstance(later, ast.Expr) or _is_method_call_on(later, name):
                        yield later

    def _with_headings(self, statements: Collection[ast.stmt]) -> set[ast.stmt]:
        kept: set[ast.stmt] = set()
        for statement in statements:
            each: ast.stmt | None = statement
            while each is not None and each not in kept:
                kept.add(each)
                each = self._above.get(each)
        return kept


def _lines_of(statements: Iterable[ast.stmt]) -> int:
    """The number of lines of statements; of compound statements only the headings count."""
    return sum(heading_end(each) - first_line(each) + 1 for each in statements)


def _made_by(statement: ast.stmt) -> set[str]:
    """The names whose values an assignment makes or changes."""
    roots = (chain_root(target) for target in _targets(statement))
    return {root.id for root in roots if isinstance(root, ast.Name)}


def gaps(node: ast.stmt, kept: Collection[ast.stmt], lines: Sequence[str]) -> Iterator[Gap]:
    """The gaps of a definition that keeps `kept` and its headings. `lines` are the lines of its file."""
    for block in blocks(node):
        run: list[ast.stmt] = []
        before = first_line(node)
        is_empty = not any(s in kept or not has_own_lines(s, lines) or _is_docstring(s, node) for s in block)
        is_elif = len(block) == 1 and lines[block[0].lineno - 1].lstrip().startswith("elif")
        for statement in [*block, None]:
            if statement is not None and not (
                statement in kept or not has_own_lines(statement, lines) or _is_docstring(statement, node)
            ):
                run.append(statement)
                continue
            if run:
                yield _gap(run, before, lines, alone=is_empty and not is_elif)
                run = []
            if statement is not None:
                before = last_line(statement)
                if statement in kept and not isinstance(statement, Scoped):
                    yield from gaps(statement, kept, lines)


def _gap(run: Sequence[ast.stmt], before: int, lines: Sequence[str], *, alone: bool) -> Gap:
    first, last = above_comments(first_line(run[0]), before, lines), last_line(run[-1])
    indent = indent_of(run[0], lines)
    count = last - first + 1
    left_out = f"# … {count} lines left out" if count > 1 else "# … 1 line left out"
    effects = [text for text in (_listed("set", _assigned(run)), _listed("call", _called(run))) if text]
    effects += ["return"] if any(isinstance(node, ast.Return) for each in run for node in ast.walk(each)) else []
    which = f", which {', '.join(effects)}" if effects else ""
    return Gap(first, last, f"{indent}{'pass  ' if alone else ''}{left_out}{which}")


def _listed(verb: str, names: Iterable[str]) -> str:
    """`set a, b …`; '' for no names."""
    first = list(itertools.islice(dict.fromkeys(names), _MOST_NAMED + 1))
    return f"{verb} {', '.join(first[:_MOST_NAMED])}{' …' * (len(first) > _MOST_NAMED)}" if first else ""


def _assigned(run: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that statements assign, change in place or define: `a` for `a = …` and `a[i] = …`, `x.a` for `x.a +=
    …`."""
    for node in (inner for each in run for inner in ast.walk(each)):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        for target in _targets(node):
            while isinstance(target, ast.Subscript | ast.Starred):
                target = target.value
            if isinstance(target, ast.Name):
                yield target.id
            elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                yield f"{target.value.id}.{target.attr}"


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """The targets of an assignment, those of `a, b = …` one by one."""
    if isinstance(node, ast.Assign):
        pending = node.targets[::-1]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
        pending = [node.target]
    else:
        return
    while pending:
        target = pending.pop()
        if isinstance(target, ast.Tuple | ast.List):
            pending += reversed(target.elts)
        else:
            yield target


def _called(run: Iterable[ast.stmt]) -> Iterator[str]:
    """The names of the functions that statements call, except logging."""
    for node in (inner for each in run for inner in ast.walk(each)):
        if isinstance(node, ast.Call) and not _is_log(node):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name:
                yield name


def above_comments(first: int, before: int, lines: Sequence[str]) -> int:
    """The first of the comment lines directly above line `first` and after line `before`."""
    while first - 1 > before and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return first


def above_blanks(first: int, before: int, lines: Sequence[str]) -> int:
    """The first of the empty lines directly above line `first` and after line `before`."""
    while first - 1 > before and not lines[first - 2].strip():
        first -= 1
    return first


def indent_of(node: ast.stmt, lines: Sequence[str]) -> str:
    line = lines[first_line(node) - 1]
    return line[: len(line) - len(line.lstrip())]


def has_own_lines(node: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether a statement shares its lines with nothing but comments."""
    head = lines[first_line(node) - 1].encode("utf-8", "surrogatepass")
    tail = lines[last_line(node) - 1].encode("utf-8", "surrogatepass")
    decorated = first_line(node) < node.lineno
    after = tail[node.end_col_offset or 0 :].strip()
    return (decorated or not head[: node.col_offset].strip()) and (not after or after.startswith(b"#"))


def _is_docstring(statement: ast.stmt, owner: ast.stmt) -> bool:
    return (
        isinstance(owner, Function | ast.ClassDef)
        and owner.body[0] is statement
        and isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _is_compound(node: ast.stmt) -> bool:
    return not isinstance(node, Scoped) and any(True for _ in blocks(node))


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """All nodes of a simple statement or definition; of a compound statement, those of its heading."""
    compound = _is_compound(statement)
    for child in ast.iter_child_nodes(statement):
        if compound and isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            if isinstance(child, ast.ExceptHandler) and child.type is not None:
                yield from ast.walk(child.type)
            elif isinstance(child, ast.match_case):
                yield from ast.walk(child.pattern)
            continue
        yield from ast.walk(child)


def _names_read(statement: ast.stmt) -> set[str]:
    """Names that a statement reads; for a definition, those that it does not bind itself."""
    nodes = list(_own_nodes(statement))
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load | ast.Del)}
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        read.add(statement.target.id)
    if isinstance(statement, Scoped):
        outer = {name for n in nodes if isinstance(n, ast.Nonlocal | ast.Global) for name in n.names}
        bound = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        bound |= {n.arg for n in nodes if isinstance(n, ast.arg)}
        read = (read - bound) | outer
    return read


def _changed_names(statement: ast.stmt, selves: Collection[str]) -> set[str]:
    """Names that a statement binds or whose values it may change: `x.a = …`, `x[i] = …`, `x.append(…)`, `f(x)`. For
    `selves` only bindings count."""
    if isinstance(statement, Function | ast.ClassDef):
        return {statement.name}
    bound: set[str] = set()
    changed: set[str] = set()
    for node in _own_nodes(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            bound.add(node.id)
        elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root = chain_root(node)
            changed |= {root.id} if isinstance(root, ast.Name) else set()
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and not _is_log(statement.value):
        call = statement.value
        values = [call.func, *call.args, *(k.value for k in call.keywords)]
        changed |= {root.id for value in values if isinstance(root := chain_root(value), ast.Name)}
    return bound | (changed - set(selves))


def _is_bound_in(statement: ast.stmt, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store | ast.Del)
        for node in _own_nodes(statement)
    )


def _is_method_call_on(statement: ast.Expr, name: str) -> bool:
    call = statement.value
    owner = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id == name


def _is_log(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in _LOGS


def _jumps(loop: ast.stmt) -> Iterator[ast.stmt]:
    """The `break` and `continue` statements of a loop, which decide how often it runs."""
    stack = [s for block in blocks(loop) for s in block]
    while stack:
        statement = stack.pop()
        if isinstance(statement, ast.Break | ast.Continue):
            yield statement
        elif not isinstance(statement, Scoped | ast.For | ast.AsyncFor | ast.While):
            stack += [s for block in blocks(statement) for s in block]
