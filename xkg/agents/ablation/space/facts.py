"""Records the values that each executed statement assigns, with their sources. Slices are computed from these facts.

A variable is identified by its function and name. An attribute is identified by its name alone, regardless of the
object. Calls to the repository's own functions are followed by name. The result of any other call may depend on all
arguments. A call whose result is unused (`loss.backward()`, `random.shuffle(x)`) may change its receiver and its first
argument. It may also change the objects from which the receiver was created. A library that only displays or stores
values does not change them."""

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Literal, NamedTuple, get_args

from xkg.agents.ablation.candidates import Place
from xkg.agents.ablation.space.exclusions import beside_the_method
from xkg.agents.ablation.space.python_source import (
    FORMATS,
    Function,
    PythonSource,
    defaults_of,
    draws,
    factors,
    last_name,
    root_name,
)  # fmt: skip
from xkg.agents.ablation.space.statements import (
    Lines,
    changed_by,
    ends_of,
    given_by,
    head_of,
    leaves,
    lines_of,
    operands_of,
    own_nodes,
    pairs_of,
    selects,
    sorts,
    weights_of,
)  # fmt: skip

Node = tuple[str, str]
"""A variable (function, name), an attribute (".", name), or the result of a function or class ("()", name)."""
Role = Literal["repeated", "sized", "bounded", "computed", "chances", "divisors", "selecting", "weights"]
"""The ways in which code uses a node. `repeated` nodes are repetition counts, `sized` nodes are sizes, and `bounded`
nodes are ends of ranges. `computed` nodes are used in arithmetic or passed to a library. `chances` are fractions or are
compared with random numbers. `divisors` are denominators. `selecting` nodes choose between two values. `weights` are
factors of terms; a weight of 0 removes its term."""
Pairs = dict[Lines, list[list[frozenset[Node]]]]
_MAIN = ""
_Call = ast.FunctionDef | ast.AsyncFunctionDef


class Fact(NamedTuple):
    """A statement that assigns a node. `uses` contains its data sources, and `control` contains its conditions.
    `effect` means that a method may change the node. `deep` means that the method may also change the objects from
    which the node was created. `binds` means that the statement calls a function with the node as a parameter.
    `escapes` means that the change affects an object that other code also references."""

    defines: Node
    uses: frozenset[Node]
    control: frozenset[Node]
    lines: tuple[Lines, ...]
    function: str
    effect: bool = False
    deep: bool = False
    binds: bool = False
    escapes: bool = False


class _Scope(NamedTuple):
    id: str
    locals: frozenset[str]
    outer: "_Scope | None"
    itself: str  # the name of a method's first parameter
    parameters: frozenset[str]


_Body = tuple[PythonSource, _Scope, Sequence[ast.stmt], str]


_NEAR = 4
_DRAWN: Node = ("()", "")  # a random number drawn inside an expression


class Facts:
    """Collects facts about the executed lines (all lines if None), up to the statements that write the metric. `read`
    contains the nodes that each statement reads, and `compared` contains the operands of each comparison. `passed`
    contains the arguments of two-argument calls to the repository's own functions. `copies` contains a (target, source)
    pair for each assignment of an unchanged value. `returned` contains a (target, source) pair for each value that a
    call returns. `roles` maps each role to its nodes. `run` contains the statements that consist of a function call, as
    (caller, function, lines). `under` contains the nodes in conditions around the statements that write the metric."""

    def __init__(
        self, sources: Sequence[PythonSource], executed: Mapping[str, frozenset[int]] | None, written: Sequence[Place]
    ) -> None:
        self._functions: dict[str, list[tuple[_Scope, _Call]]] = defaultdict(list)
        self._classes: dict[str, ast.ClassDef] = {}
        self._modules: set[str] = set()
        self._own = {part for source in sources for part in source.path.removesuffix(".py").split("/")}
        self._found: list[Fact] = []
        self.read: list[tuple[set[Node], tuple[str, int], str]] = []
        self._written = {(place.path, place.start_line) for place in written}
        self.compared: Pairs = defaultdict(list)
        self.passed: Pairs = defaultdict(list)
        self.roles: dict[Role, set[Node]] = {role: set() for role in get_args(Role)}
        self.copies: list[tuple[Node, Node]] = []
        self.returned: list[tuple[Node, Node]] = []
        self.run: list[tuple[str, str, Lines]] = []
        self.under = set[Node]()
        self._drawn, self._compares = {_DRAWN}, list[set[Node]]()
        self._counts, self._near = set[Node](), defaultdict[Node, list[Node]](list)
        self._sorted, self._of_loops, self._holders = set[Node](), set[Node](), set[Node]()
        scopes = [(source, _Scope(_MAIN, frozenset(), None, "", frozenset())) for source in sources]
        bodies: list[_Body] = []
        for source, scope in scopes:
            self._enter(source, source.tree, scope, "", bodies)
            bodies.append((source, scope, source.tree.body, ""))
        for source, scope, body, function in bodies:
            self._path, self._ran = source.path, None if executed is None else executed.get(source.path, frozenset())
            self._beside = beside_the_method(source.tree)
            self._body(scope, body, function, frozenset(), ())
        for name, node in self._classes.items():
            # A base class from a library may call any method.
            calls = any(last_name(base) not in self._classes for base in node.bases)
            methods = {("()", f.name) for f in node.body if isinstance(f, Function) and (calls or f.name == "__call__")}
            self._found.append(Fact(("()", name), frozenset(methods), frozenset(), (), _MAIN))

        for inner, called in (pair for pairs in self._functions.values() for pair in pairs):
            self._default_values(inner, called)
        self._held: dict[Node, list[Node]] = defaultdict(list)
        for target, held in self.copies:
            self._held[target].append(held)
        self.roles["sized"] |= self.closed(self._counts, near=True)
        compared = {node for nodes in self._compares if nodes & self._drawn for node in nodes - self._drawn}
        self.roles["chances"] |= compared
        self.roles["computed"] |= compared

    def _default_values(self, inner: _Scope, function: _Call) -> None:
        for argument, default in defaults_of(function):
            if inner.outer is not None and not isinstance(default, ast.Constant):
                node = (inner.id, argument.arg)
                self._found.append(Fact(node, self._uses(inner.outer, default), frozenset(), (), _MAIN))
                self.copies += [(node, source) for source in self._as_it_is(inner.outer, default)]

    def closed(self, nodes: Set[Node], *, near: bool = False) -> set[Node]:
        """Returns the given nodes, and all nodes whose unchanged values they contain. If `near` is set, a value plus or
        minus a constant also counts as unchanged."""
        found, waiting = set[Node](), [*nodes]
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += self._held[node] + (self._near[node] if near else [])
        return found

    def all(self) -> list[Fact]:
        """Returns the facts. Includes effects on the objects from which a receiver was created, which may have several
        names."""
        made_from: dict[Node, set[Node]] = defaultdict(set)
        for fact in self._found:
            if not fact.effect:
                made_from[fact.defines] |= {use for use in fact.uses if use[0] in (".", "()", fact.defines[0])}
        more = []
        for fact in self._found:
            if not fact.deep:
                continue
            found, front = set[Node](), {fact.defines}
            for _ in range(_NEAR):
                found |= self.closed(front)
                front = {use for node in self.closed(front) for use in made_from[node]} - found
            more += [fact._replace(defines=node) for node in found | front if node != fact.defines]
        return [*self._found, *more]

    def _enter(
        self, source: PythonSource, node: ast.AST, scope: _Scope, within: str, bodies: list[_Body]
    ) -> None:  # fmt: skip
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function):
                arguments = [*child.args.posonlyargs, *child.args.args, *child.args.kwonlyargs]
                arguments += [each for each in (child.args.vararg, child.args.kwarg) if each]
                names = parameters = {argument.arg for argument in arguments}
                names = names | {
                    n.id for n in own_nodes(child) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
                }
                names -= {
                    name for n in own_nodes(child) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names
                }
                static = "staticmethod" in map(last_name, child.decorator_list)
                itself = arguments[0].arg if arguments and isinstance(node, ast.ClassDef) and not static else ""
                inner = _Scope(
                    f"{source.path}::{within}{child.name}", frozenset(names), scope, itself, frozenset(parameters)
                )
                self._functions[child.name].append((inner, child))
                bodies.append((source, inner, child.body, child.name))
                self._enter(source, child, inner, f"{within}{child.name}.", bodies)
            elif isinstance(child, ast.ClassDef):
                self._classes[child.name] = child
                self._enter(source, child, scope, f"{within}{child.name}.", bodies)
            elif isinstance(child, ast.Import):
                self._modules |= {
                    a.asname or a.name.partition(".")[0]
                    for a in child.names
                    if a.name.partition(".")[0] not in self._own
                }
            elif isinstance(child, ast.ImportFrom):
                library = not child.level and (child.module or "").partition(".")[0] not in self._own
                self._modules |= {alias.asname or alias.name for alias in child.names} if library else set()
            elif isinstance(child, ast.stmt | ast.excepthandler):
                self._enter(source, child, scope, within, bodies)

    def _until_written(self, body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
        """Returns a block's statements up to the last one that writes the metric, or all statements if none does."""
        own = {line for path, line in self._written if path == self._path}
        writes = [i for i, each in enumerate(body) if not own.isdisjoint(lines_of(each))]
        return body[: writes[-1] + 1] if writes else body

    def _body(
        self,
        scope: _Scope,
        body: Sequence[ast.stmt],
        function: str,
        control: frozenset[Node],
        heads: tuple[Lines, ...],
        *,
        looped: bool = False,
    ) -> None:
        for statement in body if looped else self._until_written(body):
            match statement:
                case ast.ClassDef(body=inner):
                    for each in inner:
                        if isinstance(each, ast.Assign | ast.AnnAssign):
                            where = head_of(self._path, each)
                            self._statement(scope, each, function, control, (where,), attribute=True)
                    continue
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    if control:  # the conditions decide which definition a call runs
                        self._found.append(Fact(("()", name), frozenset(), control, heads, scope.id))
                    continue
            if not self._did_run(statement):
                continue
            own = (*heads, head_of(self._path, statement))
            self._statement(scope, statement, function, control, own)
            head = getattr(statement, "test", None) or getattr(statement, "iter", None)
            under = control | self._uses(scope, head) if head is not None else control
            repeats = looped or isinstance(statement, ast.For | ast.AsyncFor | ast.While)
            for name in ("body", "orelse", "finalbody"):
                self._body(scope, getattr(statement, name, ()), function, under, own, looped=repeats)
            for each in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                self._body(scope, each.body, function, under, own, looped=looped)
            if leaves(statement):  # later statements run only if this branch does not
                control, heads = under, own

    def _did_run(self, statement: ast.stmt) -> bool:
        end = statement.end_lineno or statement.lineno
        return self._ran is None or any(line in self._ran for line in range(statement.lineno, end + 1))

    def _statement(
        self,
        scope: _Scope,
        statement: ast.stmt,
        function: str,
        control: frozenset[Node],
        lines: tuple[Lines, ...],
        *,
        attribute: bool = False,
    ) -> None:
        def add(node: Node, uses: frozenset[Node], **kind: bool) -> None:
            self._found.append(Fact(node, uses, control, lines, scope.id, **kind))

        if (self._path, statement.lineno) in self._written:
            self.under |= control
        own = [each for each in ast.iter_child_nodes(statement) if not isinstance(each, ast.stmt | ast.excepthandler)]
        self.read.append(
            (set().union(*(self._uses(scope, each) for each in own)), (self._path, statement.lineno), scope.id)
        )
        for target, value in given_by(statement):
            # `history = model.fit(x)` also changes the model.
            match value:
                case ast.Call(func=ast.Attribute(value=owner)) if root_name(owner) not in self._beside:
                    for node in self._targets(scope, owner) if not self._called(value) else ():
                        add(node, self._uses(scope, value), effect=True)
            for one, part, index in pairs_of(target, value):
                uses = self._uses(scope, part, index)
                if isinstance(statement, ast.AugAssign):
                    uses |= self._uses(scope, target)
                for node in self._targets(scope, one):
                    add((".", node[1]) if attribute else node, uses)
                    self.copies += [(node, source) for source in self._as_it_is(scope, part)]
                    match part:
                        case (
                            ast.BinOp(left=count, op=ast.Add() | ast.Sub(), right=ast.Constant())
                            | ast.BinOp(left=ast.Constant(), op=ast.Add(), right=count)
                        ):
                            self._near[node] += self._as_it_is(scope, count)
                    if isinstance(part, ast.Call) and self._called(part):
                        given = "()" if index is None else f"()[{index}]"
                        self.returned += [(node, (given, last_name(part.func)))]
                    self._holders |= {node} if isinstance(part, ast.Call) and self._holds(scope, part) else set()
                    self._drawn |= {node} if draws(part) else set()
                    self._sorted |= {node} if sorts(part) else set()
        match statement:
            case ast.Return(value=ast.expr() as value) | ast.Expr(value=ast.Yield(value=ast.expr() as value)):
                add(("()", function), self._uses(scope, value))
                self.returned += [(("()", function), source) for source in self._as_it_is(scope, value)]
                for i, each in enumerate(value.elts if isinstance(value, ast.Tuple) else ()):
                    add((f"()[{i}]", function), self._uses(scope, each))
                    self.returned += [((f"()[{i}]", function), source) for source in self._as_it_is(scope, each)]
            case ast.Expr(value=ast.Call() as call):
                receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
                if receiver is not None and sorts(call):
                    self._sorted |= {*self._as_it_is(scope, receiver)}
                if (
                    root_name(call.func) not in self._beside
                    and last_name(call.func) != "print"
                    and not self._called(call)
                ):
                    uses = self._uses(scope, call)
                    holds = hasattr(list, last_name(call.func)) or hasattr(set, last_name(call.func))
                    first = [each for each in call.args[:1] if not (holds or isinstance(each, ast.Call))]
                    objects = [each for each in (receiver, *first) if each is not None]
                    for node in {node for each in objects for node in self._targets(scope, each)}:
                        add(node, uses, effect=True, deep=last_name(call.func) not in FORMATS)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self.run += [(scope.id, inner.id, lines[-1]) for inner, _ in self._called(statement.value)]
        for inner in (inner for each in own for inner in ast.walk(each)):
            self._roles(scope, inner)
            discarded = isinstance(statement, ast.Expr) and inner is statement.value
            enters = isinstance(inner, ast.Call) and self._called(inner)
            pairs = self.passed if enters else self.compared
            groups = operands_of(inner) if not discarded else []
            for operands in groups if not enters or [*map(len, groups)] == [2, 0] else ():
                of = [self._uses(scope, each) for each in operands]
                pairs[lines[-1]] += [[one, other] for i, one in enumerate(of) for other in of[i + 1 :]]
        if isinstance(statement, ast.If) and selects(statement):
            self.roles["selecting"] |= {*self._as_it_is(scope, statement.test)}
        self.roles["weights"] |= {node for each in weights_of(statement) for node in self._as_it_is(scope, each)}
        if isinstance(statement, ast.While):
            for tested in ast.walk(statement.test):
                self.roles["repeated"] |= {*self._as_it_is(scope, tested)}
        if isinstance(statement, ast.For):
            elements = list(self._elements(scope, statement))
            self.copies += elements
            self._of_loops |= {node for node, _ in elements}
        if isinstance(statement, ast.AugAssign):
            for node in self._of_loops.intersection(self._as_it_is(scope, statement.target)):
                add(node, self._uses(scope, statement.value), effect=True, deep=True)
            for each in (statement.target, statement.value):
                self.roles["computed"] |= {*self._as_it_is(scope, each)}
        for call in (n for each in own for n in ast.walk(each) if isinstance(n, ast.Call)):
            root = root_name(call.func) if isinstance(call.func, ast.Attribute) else ""
            local = root in scope.locals - scope.parameters and (scope.id, root) not in self._holders
            escapes = self._holds(scope, call) if not root else not local
            for node, uses, given_back in self._bound(scope, call):
                add(node, uses, binds=True, escapes=escapes)
                for back in given_back:
                    add(back, frozenset({node}))

    def _holds(self, scope: _Scope, call: ast.Call) -> bool:
        """Returns whether a call creates an object that refers to an argument of the enclosing function, such as an
        optimizer for a network."""
        outer = self._holders | {(scope.id, name) for name in scope.parameters}
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        shared = any(not outer.isdisjoint(self._as_it_is(scope, each)) for each in given)
        return shared and last_name(call.func) in self._classes

    def _elements(self, scope: _Scope, loop: ast.For) -> Iterator[tuple[Node, Node]]:
        match loop.iter:
            case ast.Call(func=ast.Name(id="enumerate" | "zip" | "zip_longest"), args=held):
                pass
            case held_by:
                held = [held_by]
        for target in self._targets(scope, loop.target):
            yield from ((target, source) for each in held for source in self._as_it_is(scope, each))

    def _uses(self, scope: _Scope, node: ast.AST | None, index: int | None = None) -> frozenset[Node]:
        found: set[Node] = set()
        waiting = [node] if node is not None else []
        while waiting:
            here = waiting.pop()
            match here:
                case ast.Call(func=called):
                    functions = self._called(here)
                    if functions:
                        found.add(("()" if index is None else f"()[{index}]", last_name(called)))
                        waiting += [called.value] if isinstance(called, ast.Attribute) else []
                        continue
                case ast.BinOp(left=ast.Constant(value=0), op=ast.Mult()):
                    continue  # `0 * x` has the same form as x
                case ast.Attribute(attr=name) if name in self._functions:
                    found.add(("()", name))
                case _:
                    found.update(self._as_it_is(scope, here))
            waiting += ast.iter_child_nodes(here)
        return frozenset(found - {(scope.id, scope.itself)})

    def _roles(self, scope: _Scope, node: ast.AST) -> None:
        inside = {found for size in self._sizes(scope, node) for found in self._as_it_is(scope, size)}
        self._counts |= inside
        if isinstance(node, ast.Call) and last_name(node.func) == "range":
            self.roles["repeated"] |= inside
        match node:
            case ast.IfExp(test=test):
                self.roles["selecting"] |= {*self._as_it_is(scope, test)}
            case ast.BinOp(left=left, right=right, op=op):
                self.roles["computed"] |= {*self._as_it_is(scope, left), *self._as_it_is(scope, right)}
                parts = list(factors(right))
                within = {node for each in parts for node in self._as_it_is(scope, each)}
                if isinstance(left, ast.Constant) and (
                    isinstance(op, ast.Sub) or (isinstance(op, ast.Add) and len(parts) > 1)
                ):  # matches `1 - rate` and `1 + rate * x`
                    self.roles["chances"] |= within
                if isinstance(op, ast.Div | ast.FloorDiv | ast.Mod):
                    self.roles["divisors"] |= within
            case ast.UnaryOp(operand=operand, op=ast.USub()):
                self.roles["computed"] |= {*self._as_it_is(scope, operand)}
            case ast.Compare(left=left, comparators=[right]):
                sides = [_DRAWN] if draws(left) or draws(right) else []
                self._compares.append({*sides, *self._as_it_is(scope, left), *self._as_it_is(scope, right)})
            case ast.Call(args=args, keywords=keywords) if not self._called(node):
                ends = {n for each in ends_of(node) for n in self._as_it_is(scope, each)}
                self.roles["bounded"] |= ends if len(ends) > 1 else set()
                values = [*args, *(keyword.value for keyword in keywords)]
                if not (isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)):
                    self.roles["sized"] |= {found for each in args for found in self._as_it_is(scope, each)}
                self.roles["computed"] |= {found for each in values for found in self._as_it_is(scope, each)}

    def _sizes(self, scope: _Scope, node: ast.AST) -> Iterator[ast.expr]:
        """Yields the parts of a node that are repetition counts, bounds or sizes. Ignores slices of sorted lists,
        because they select items and do not set sizes."""
        match node:
            case ast.Call(func=ast.Name(id="range"), args=bounds):
                pass
            case ast.Subscript(value=value, slice=index) if not self._is_sorted(scope, value):
                axes = index.elts if isinstance(index, ast.Tuple) else [index]
                slices = [each for each in axes if isinstance(each, ast.Slice)]
                bounds = [each for one in slices for each in (one.lower, one.upper) if each is not None]
            case ast.BinOp(left=ast.List() | ast.ListComp(), op=ast.Mult(), right=times):
                bounds = [times]
            case ast.Call(args=args, keywords=keywords):
                given = [*args, *(keyword.value for keyword in keywords)]
                bounds = [size for each in given if isinstance(each, ast.Tuple) for size in each.elts]
                bounds += [keyword.value for keyword in keywords if keyword.arg in ("size", "shape")]
            case _:
                return
        yield from (inner for bound in bounds for inner in ast.walk(bound) if isinstance(inner, ast.expr))

    def _is_sorted(self, scope: _Scope, node: ast.expr) -> bool:
        return sorts(node) or not self._sorted.isdisjoint(self._as_it_is(scope, node))

    def _as_it_is(self, scope: _Scope, node: ast.AST) -> list[Node]:
        """Returns the node for an expression that is just a variable, an attribute or an entry, and an empty list
        otherwise."""
        name = last_name(node)
        return [self._variable(scope, name) if isinstance(node, ast.Name) else (".", name)] if name else []

    def _variable(self, scope: _Scope, name: str) -> Node:
        at: _Scope | None = scope
        while at is not None and name not in at.locals:
            at = at.outer
        if at is None and (name in self._functions or name in self._classes):
            return ("()", name)
        return (at.id if at is not None else _MAIN, name)

    def _called(self, call: ast.Call) -> list[tuple[_Scope, _Call]]:
        name = last_name(call.func)
        if isinstance(call.func, ast.Attribute) and root_name(call.func) in self._modules:
            return []
        if name in self._classes:
            return self._constructors(name, 0)
        found = self._functions.get(name, [])
        return [pair for pair in found if not pair[0].itself] if isinstance(call.func, ast.Name) else found

    def _constructors(self, name: str, depth: int) -> list[tuple[_Scope, _Call]]:
        made = self._classes.get(name)
        if made is None or depth > _NEAR:
            return []
        own = {id(each) for each in made.body}
        found = [pair for pair in self._functions["__init__"] if id(pair[1]) in own]
        return found or [pair for base in made.bases for pair in self._constructors(last_name(base), depth + 1)]

    def _bound(self, scope: _Scope, call: ast.Call) -> Iterator[tuple[Node, frozenset[Node], list[Node]]]:
        """Yields the parameters that a call binds, with their sources and the caller's nodes that the function may
        change."""
        for inner, function in self._called(call):
            names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
            names = names[1:] if inner.itself else names
            given = [*zip(names, call.args, strict=False), *((k.arg, k.value) for k in call.keywords if k.arg)]
            given += [(name, each) for each in call.args if isinstance(each, ast.Starred) for name in names]
            if (rest := function.args.vararg) is not None:
                given += [(rest.arg, each) for each in call.args[len(names) :] or call.args[-1:]]
            for name, value in given:
                given_back = self._targets(scope, value) if name in changed_by(function) else []
                self.copies += [((inner.id, name), source) for source in self._as_it_is(scope, value)]
                yield (inner.id, name), self._uses(scope, value), list(given_back)
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        for passed in values:  # handles functions that are passed as arguments
            if isinstance(passed, ast.Name | ast.Attribute) and last_name(passed) in self._functions:
                uses = frozenset[Node]().union(*(self._uses(scope, each) for each in values if each is not passed))
                for inner, function in self._functions[last_name(passed)]:
                    for argument in function.args.args:
                        yield (inner.id, argument.arg), uses, []

    def _targets(self, scope: _Scope, node: ast.expr) -> Iterator[Node]:
        match node:
            case ast.Name(id=name) if name not in self._modules:
                yield self._variable(scope, name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name not in self._modules:
                yield (".", attribute)
            case ast.Attribute(value=ast.Attribute() | ast.Subscript(), attr=attribute):
                yield (".", attribute)
            case ast.Subscript(value=inner):
                yield from self._targets(scope, inner)
                yield from self._as_it_is(scope, node)
            case ast.Starred(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
                yield from self._targets(scope, inner)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for each in elements:
                    yield from self._targets(scope, each)
