"""Names and attributes that code gives a value once: a number that a method has, and not a state that it changes."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from xkg.agents.ablation.space.python_source import Function, last_name

_TABLES = frozenset({"dict", "SimpleNamespace", "Namespace"})
_ENUMS = frozenset({"Enum", "IntEnum", "Flag", "IntFlag", "StrEnum"})


def assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr, str]]:
    """Names with what they are given, and the class whose attribute they are ('' for none): names that a module or a
    function gives a value once, attributes that `__init__` or the body of a class gives."""
    yield from _of_scope(tree, tree, "")


def enumerations(tree: ast.Module) -> set[int]:
    """The ids of nodes whose values number names: of dictionaries, `dict(…)`, and of values in a row in a module or a
    class (`UP, DOWN = 0, 1`)."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict) and _numbers(node.values):
            found.add(id(node))
        elif isinstance(node, ast.Call) and last_name(node.func) in _TABLES:
            if _numbers([keyword.value for keyword in node.keywords]):
                found.add(id(node))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and _numbers(node.value.elts):
            found.update(map(id, node.value.elts))
        elif isinstance(node, ast.Module | ast.ClassDef):
            is_enum = isinstance(node, ast.ClassDef) and any(last_name(base) in _ENUMS for base in node.bases)
            for row in _rows(node.body):
                if is_enum or _numbers(row):
                    found.update(map(id, row))
    return found


def _of_scope(scope: ast.AST, node: ast.AST, owner: str) -> Iterator[tuple[str, ast.expr, str]]:
    counts = _stores(scope)
    for statement in _statements(node):
        if isinstance(statement, ast.ClassDef):
            for inner in statement.body:
                if isinstance(inner, ast.Assign):
                    yield from ((t, v, statement.name) for t, v in _pairs(inner) if isinstance(t, str))
                elif isinstance(inner, Function):
                    yield from _of_scope(inner, inner, statement.name)
        elif isinstance(statement, Function):
            yield from _of_scope(statement, statement, "")
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            initial = isinstance(scope, Function) and scope.name == "__init__" and owner
            for target, value in _pairs(statement):
                name = target.lstrip(".")
                if target.startswith(".") and initial:
                    yield name, value, owner
                elif not target.startswith(".") and counts[name] == 1:
                    yield name, value, ""


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a scope, in its order, those inside of its functions and classes not included."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, (*_SCOPES, ast.expr)):
            yield from _statements(child)


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _pairs(statement: ast.Assign | ast.AnnAssign) -> Iterator[tuple[str, ast.expr]]:
    """What gets a value, with the value: names, and attributes of self with a dot."""
    if statement.value is None:
        return
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        targets, values = [target], [statement.value]
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            targets, values = target.elts, statement.value.elts
        for one, value in zip(targets, values, strict=False):
            match one:
                case ast.Name(id=name):
                    yield name, value
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    yield f".{name}", value


def _stores(scope: ast.AST) -> Counter[str]:
    """How often a scope gives each of its names a value."""
    counts: Counter[str] = Counter()
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            counts[node.id] += 1
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return counts


def _rows(body: Sequence[ast.stmt]) -> Iterator[list[ast.expr]]:
    """The values of statements that give one name a whole number each, those that follow each other together."""
    row: list[ast.expr] = []
    for statement in body:
        value = statement.value if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if value is not None and isinstance(value, ast.Constant) and type(value.value) is int:
            row.append(value)
        else:
            yield row
            row = []
    yield row


def _numbers(values: Sequence[ast.expr]) -> bool:
    """Whether values count from 0 or 1 on."""
    found = [value.value for value in values if isinstance(value, ast.Constant) and type(value.value) is int]
    if len(found) < len(values) or len(found) < 2:
        return False
    first, *_ = ordered = sorted(found)
    return ordered == list(range(first, first + len(found))) and (first == 0 or (first == 1 and len(found) > 2))
