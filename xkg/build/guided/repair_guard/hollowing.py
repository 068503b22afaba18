"""Functions that were removed or hollowed out, and hard-coded results, between two versions of a module."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from xkg.build.guided.repair_guard.assertion_strength import number
from xkg.build.guided.repair_guard.names import short
from xkg.build.guided.repair_guard.reachability import Function, own_expressions, reachable
from xkg.build.similarity.fidelity import FAITHFUL_SHARE, share

_LEAST_SHARE = 0.4
_RENAMED = 0.6
_SMALL = 6
_LEAST = 3

_ORDINARY: tuple[object, ...] = (None, True, False, 0, 1, -1, "", ...)


def hollowed(old: ast.Module, new: ast.Module, test: ast.Module, excerpt: str, *, may_remove: bool) -> Iterator[str]:
    """Complaints about public functions that are missing or compute less, and about hard-coded results. A number in the
    source lines is no result."""
    old_functions, new_functions = _functions(old), _functions(new)
    fresh = {name: f for name, f in new_functions.items() if name not in old_functions}
    for name, function in old_functions.items():
        if name.rpartition(".")[2].startswith("_") and not name.endswith("__"):
            continue
        after = new_functions.get(name) or _renamed(function, fresh)
        if after is None:
            size = _size(function, old_functions, name)
            if (size >= _LEAST or "." not in name) and not may_remove:
                yield f"{name} is gone: keep what the implementation offers"
            continue
        yield from _hollowing_faults(
            name, (function, old_functions), (after, new_functions), excerpt if may_remove else None
        )
        marks = {ast.unparse(m) for m in after.decorator_list} - {ast.unparse(m) for m in function.decorator_list}
        if any(mark.partition("(")[0].partition(".")[0] in new_functions or "lambda" in mark for mark in marks):
            yield f"{name} is wrapped in a decorator of its own, which hides what it does"
    in_sources = {float(text) for text in re.findall(r"\d+\.?\d*(?:e-?\d+)?|\.\d+", excerpt)}
    results = _results(test) & (set(_distinctive(new)) - set(_distinctive(old))) - in_sources
    if results:
        listed = ", ".join(f"{n:g}" for n in sorted(results)[:3])
        yield f"the implementation now holds {listed}, which the test expects: compute it"


def removed(old: ast.Module, new: ast.Module, excerpt: str) -> set[str]:
    """The public functions of `old` that `new` has under no name, as far as little of them is in the source lines."""
    new_functions = _functions(new)
    old_functions = _functions(old)
    fresh = {name: f for name, f in new_functions.items() if name not in old_functions}
    return {
        name
        for name, function in old_functions.items()
        if "." not in name
        and name not in new_functions
        and _renamed(function, fresh) is None
        and share(ast.unparse(function), excerpt) < _LEAST_SHARE
    }


def _hollowing_faults(
    name: str,
    before: tuple[Function, Mapping[str, Function]],
    after: tuple[Function, Mapping[str, Function]],
    sources: str | None,
) -> Iterator[str]:
    """Complaints about one function; with `sources` it may lose what is foreign to these."""
    function, old_functions = before
    changed, new_functions = after
    if _is_empty(changed) and not _is_empty(function):
        yield f"{name} no longer does anything: repair it, do not replace it by a stub"
        return
    old_size, new_size = _size(function, old_functions, name), _size(changed, new_functions, name)
    if old_size < _LEAST:
        return
    returns, returned = _returns(changed), _returns(function)
    if new_size == 0 or (_is_stub(changed) and not _is_stub(function)):
        yield f"{name} no longer computes anything: repair it, do not replace it by a stub"
    elif old_size > _SMALL and not _is_enough(changed, new_size, old_size, sources):
        yield f"{name} lost most of what it did: repair it, do not replace it by a stub"
    elif any(_is_computed(r) for r in returned) and returns and not any(_is_computed(r) for r in returns):
        yield f"{name} returns a fixed value or its own input: compute the result"
    else:
        old = {ast.dump(r) for r in returned}
        fixed = [r for r in returns if ast.dump(r) not in old and _is_fixed(r)]
        if fixed:
            yield f"{name} returns the fixed value `{short(ast.unparse(fixed[0]))}`: compute the result"


def _is_enough(function: Function, size: int, before: int, sources: str | None) -> bool:
    """Whether what is left of a function may be all of it; where it may lose what is foreign to `sources`, half as much
    suffices, and however little where the rest is theirs."""
    if sources is None or size >= before * _LEAST_SHARE:
        return size >= before * _LEAST_SHARE
    own = size >= _LEAST and share(ast.unparse(function), sources) >= FAITHFUL_SHARE
    return own or size >= before * _LEAST_SHARE / 2


def _functions(tree: ast.Module) -> dict[str, Function]:
    """The functions of a module and the methods of its classes by qualified name, the last definition of each, without
    names that are rebound later."""
    found: dict[str, Function] = {}

    def read(body: Sequence[ast.stmt], owner: str) -> None:
        for statement, _ in reachable([s for s in body if not isinstance(s, ast.ClassDef)]):
            match statement:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found[f"{owner}{name}"] = statement
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        if isinstance(target, (ast.Name, ast.Attribute)):
                            name = f"{owner}{ast.unparse(target)}"
                            if isinstance(value, ast.Name) and f"{owner}{value.id}" in found:
                                found[name] = found[f"{owner}{value.id}"]
                            else:
                                found.pop(name, None)
                case ast.Delete(targets=targets):
                    for target in targets:
                        found.pop(f"{owner}{ast.unparse(target)}", None)
                case _:
                    continue
        for statement in body:
            if isinstance(statement, ast.ClassDef):
                read(statement.body, f"{owner}{statement.name}.")
        for statement in body:  # `Class.method = …` after the class
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Attribute):
                        found.pop(f"{owner}{ast.unparse(target)}", None)

    read(tree.body, "")
    return found


def _renamed(function: Function, fresh: Mapping[str, Function]) -> Function | None:
    """The new function that does the same as a missing one."""
    source = ast.unparse(function)
    for candidate in fresh.values():
        if share(source, ast.unparse(candidate)) >= _RENAMED or ast.dump(ast.Module([*function.body], [])) == ast.dump(
            ast.Module([*candidate.body], [])
        ):
            return candidate
    return None


def _size(function: Function, functions: Mapping[str, Function], name: str) -> int:
    """The number of operations that a function can run, with the module's own functions that it calls."""
    owner = name.rpartition(".")[0]
    seen: set[int] = set()
    waiting = [function]
    total = 0
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        for statement, _ in reachable(current.body):
            if isinstance(statement, Function):
                waiting.append(statement)
                continue
            for part in _heads(statement):
                for node in ast.walk(part):
                    total += isinstance(node, _COMPUTING)
                    if isinstance(node, (ast.Name, ast.Attribute)):
                        called = node.id if isinstance(node, ast.Name) else node.attr
                        known = functions.get(called) or functions.get(f"{owner}.{called}")
                        if known is not None:
                            waiting.append(known)
    return total


_COMPUTING = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Subscript, ast.IfExp),
    *(ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp),
)


def _heads(statement: ast.stmt) -> Iterator[ast.expr]:
    """`own_expressions` without messages."""
    if isinstance(statement, (ast.Assert, ast.Raise)) or (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func).rpartition(".")[2] in ("print", "warn", "info", "debug", "warning")
    ):
        return
    yield from own_expressions(statement)


def _is_empty(function: Function) -> bool:
    """Whether a body has nothing to run: `pass`, a docstring, a lone `raise`, `return None` or another constant."""
    for statement, _ in reachable(function.body):
        match statement:
            case ast.Pass() | ast.Raise() | ast.Expr(value=ast.Constant()):
                continue
            case ast.Return(value=None | ast.Constant()):
                continue
            case _:
                return False
    return True


def _is_stub(function: Function) -> bool:
    """Whether a function computes nothing from its arguments."""
    statements = [
        s
        for s, _ in reachable(function.body)
        if not (isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)))
    ]
    if not statements:
        return True
    if any(isinstance(s, ast.Return) and s.value is not None and _is_computed(s.value) for s in statements):
        return False
    # Without a return value it may modify its arguments, or itself.
    return all(isinstance(s, (ast.Raise, ast.Pass, ast.Return)) for s in statements)


_COMPUTED = ast.Call(ast.Name("computed", ast.Load()), [], [])


def _returns(function: Function) -> list[ast.expr]:
    """The expressions that a function can return; a variable is replaced by its value, preferably a computed one."""
    given: dict[str, list[ast.expr]] = {}

    def give(target: ast.expr, value: ast.expr) -> None:
        for node in ast.walk(target):
            if isinstance(node, (ast.Name, ast.Attribute)):
                given.setdefault(ast.unparse(node), []).append(value)

    found: list[ast.expr] = []
    for statement, _ in reachable(function.body):
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    give(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                give(target, value)
            case ast.AugAssign(target=target) | ast.For(target=target):
                give(target, _COMPUTED)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                given.setdefault(name, []).append(_COMPUTED)
            case ast.With(items=items):
                for item in items:
                    if item.optional_vars is not None:
                        give(item.optional_vars, _COMPUTED)
            case ast.Return(value=ast.expr() as value):
                values = given.get(ast.unparse(value), [value])
                computed = next((v for v in reversed(values) if _is_computed(v)), None)
                if computed is None and isinstance(value, ast.Name) and _is_filled(function, value.id):
                    computed = _COMPUTED
                found.append(values[-1] if computed is None else computed)
            case _:
                continue
    return found


def _is_filled(function: Function, name: str) -> bool:
    """Whether a variable's value is modified: `x[i] = …`, `x.append(…)`, `fill(x)`."""
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=ast.Name(id=found), ctx=ast.Store()) if found == name:
                return True
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=found)))) if found == name:
                return True
            case ast.Expr(value=ast.Call(args=given, keywords=named)):
                if any(isinstance(a, ast.Name) and a.id == name for a in (*given, *(k.value for k in named))):
                    return True
            case _:
                continue
    return False


_FILLED = frozenset(
    "zeros ones full empty zeros_like ones_like full_like empty_like eye tensor array asarray as_tensor float int"
    " list tuple dict set rand randn random Tensor float32 float64".split()
)


def _is_computed(node: ast.expr) -> bool:
    """Whether an expression computes with its operands, rather than naming, filling or grouping them."""
    match node:
        case ast.Constant() | ast.Name() | ast.Attribute() | ast.Starred() | ast.JoinedStr():
            return False
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return any(_is_computed(e) or isinstance(e, ast.Name) for e in elements) and any(
                not isinstance(e, ast.Constant) for e in elements
            )
        case ast.Dict(values=values):
            return any(not isinstance(v, ast.Constant) for v in values)
        case ast.UnaryOp(operand=operand):
            return (number(node) is None and _is_computed(operand)) or not isinstance(operand, ast.Constant)
        case ast.BinOp():
            return number(node) is None
        case ast.Call(func=called, args=arguments):
            name = ast.unparse(called).rpartition(".")[2]
            return name not in _FILLED or any(_is_computed(a) for a in arguments)
        case _:
            return True


def _is_fixed(node: ast.expr) -> bool:
    """Whether an expression is a hard-coded value, and no ordinary one (`0`, `None`, an empty list)."""
    match node:
        case ast.Constant(value=value):
            return not any(value is o or (value == o and type(value) is not bool) for o in _ORDINARY)
        case ast.UnaryOp(operand=ast.Constant()):
            return number(node) not in (-1.0, None)
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return (
                bool(elements)
                and all(_is_fixed(e) or isinstance(e, ast.Constant) for e in elements)
                and any(_is_fixed(e) for e in elements)
            )
        case ast.Dict(values=values):
            return bool(values) and all(_is_fixed(v) for v in values)
        case ast.Subscript(value=ast.Dict()) | ast.Call(func=ast.Attribute(value=ast.Dict(), attr="get")):
            return True
        case ast.Call(func=called, args=[first, *_]):
            name = ast.unparse(called).rpartition(".")[2]
            return name in ("tensor", "array", "asarray", "as_tensor", "Tensor") and _is_fixed(first)
        case _:
            return False


def _results(test: ast.Module) -> set[float]:
    """The distinctive numbers that a test expects."""
    asserted = (n.test for n in ast.walk(test) if isinstance(n, ast.Assert))
    calls = (n for n in ast.walk(test) if isinstance(n, ast.Call) and "assert" in ast.unparse(n.func))
    return {value for node in chain(asserted, calls) for value in _distinctive(node)}


def _distinctive(node: ast.AST) -> Iterator[float]:
    """Numbers with at least three significant digits, which do not coincide by chance."""
    for n in ast.walk(node):
        if isinstance(n, ast.Constant) and isinstance(n.value, (int, float)) and not isinstance(n.value, bool):
            digits = f"{abs(n.value):.12g}".partition("e")[0].replace(".", "").strip("0")
            if len(digits) >= 3:
                yield float(n.value)
