"""Decides which calls can be omitted without breaking the code.

A call to one of the repository's functions can be omitted if the function returns a new list. Such a call can also be
omitted if the function returns its argument, changed in place or element by element. The change must use randomness or
a statistic of the argument, as in scaling or mutation. All other functions are treated as activations and as part of a
formula. For a library object, the constructor's arguments determine the form of the result. A size, a string or a
second variable changes the form, as in `Linear(8, 3)`. `Dropout(0.5)` keeps the form. An object without arguments, such
as `ReLU()`, is an activation, unless one of its methods is called (`scaler.fit_transform(x)`)."""

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from xkg.agents.ablation.space.python_source import (
    Function,
    PythonSource,
    draws,
    last_name,
    names_in,
    root_name,
    words_of,
)
from xkg.agents.ablation.space.statements import changed_by, own_nodes

_ELEMENTWISE = frozenset(
    "multiply exp expm1 log log1p tanh sin cos maximum max minimum min clip clamp abs fabs sqrt square power where sign"
    " round copy deepcopy asarray array astype float".split()
)


class Step(NamedTuple):
    """The behaviour of a repository function.

    - `lists`: the function stores nothing and returns a new list.
    - `forms`: the function returns a value in the same form as its first argument, computed element by element.
    - `keeps`: the function returns its first argument, changed by a stage of a method.
    - `scales`: the function returns a multiple of its first argument.
    - `several`: the number of arguments that the function returns in this way, if it returns several.
    - `stores`: the attributes that the function changes, or none if it only resets them.
    - `changes`: the positions of the arguments whose contents the function changes.
    """

    lists: bool
    forms: bool
    keeps: bool
    scales: bool
    several: int
    stores: frozenset[str]
    changes: frozenset[int]


def own_steps(sources: Sequence[PythonSource]) -> dict[str, Step]:
    """Returns the repository's functions by name. For functions that share a name, keeps only their common
    properties."""
    functions = [pair for source in sources for pair in source.functions]
    simple = {name for name, step in _steps(functions, frozenset()).items() if step.forms}
    return _steps(functions, simple)


def _steps(functions: Sequence[tuple[str, Function]], simple: Set[str]) -> dict[str, Step]:
    found: dict[str, Step] = {}
    for name, function in functions:
        one, other = _step(function, simple), found.get(name.rpartition(".")[2])
        found[name.rpartition(".")[2]] = one if other is None else Step(
            one.lists and other.lists, one.forms and other.forms, one.keeps and other.keeps,
            one.scales and other.scales, one.several if one.several == other.several else 0,
            one.stores | other.stores, one.changes | other.changes,
        )  # fmt: skip
    return found


def _step(function: Function, simple: Set[str]) -> Step:
    """Analyses a function. `simple` contains the functions that keep the form of their argument."""
    nodes = list(own_nodes(function))
    stored = frozenset(
        each.attr
        for node in nodes
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
        for each in [node.value if isinstance(node, ast.Subscript) else node]
        if isinstance(each, ast.Attribute)
    )
    read = {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)}
    read |= {last_name(n.target) for n in nodes if isinstance(n, ast.AugAssign)}
    arguments = [*function.args.posonlyargs, *function.args.args]
    names = [each.arg for each in arguments]
    own = names[1:] if names[:1] in (["self"], ["cls"]) else names
    required = len(own) - len(function.args.defaults)
    returned = [node.value for node in nodes if isinstance(node, ast.Return)]
    forms = keeps = scales = lists = False
    if own and returned and None not in returned:
        values = [value for value in returned if value is not None]
        known = _of_form(own[0], nodes, simple)
        made = {last_name(n.targets[0]): n.value for n in nodes if isinstance(n, ast.Assign)}
        itself = all(isinstance(value, ast.Name) and value.id == own[0] for value in values) and own[0] not in made
        changed = itself and own[0] in changed_by(function)
        computed = all(_has_form(value, known) for value in values) and not itself
        scales = all(any(_scales(part, own[0]) for part in _bounded(value)) for value in values)
        lists = all(isinstance(made.get(last_name(value)), ast.List | ast.ListComp) for value in values)
        forms = changed or (computed and required == 1) or scales
        keeps = forms and (scales or _depends(nodes, known))
    several = max((len(each.elts) for each in returned if isinstance(each, ast.Tuple)), default=0)
    for value in returned:
        pairs = zip(value.elts, own, strict=False) if isinstance(value, ast.Tuple) else [(ast.Constant(0), "")]
        if several > len(own) or not all(_has_form(each, _of_form(name, nodes, simple)) for each, name in pairs):
            several = 0
    changes = frozenset(own.index(name) for name in changed_by(function) if name in own)
    pure = not stored
    # An attribute that the function sets but does not read is merely reset.
    stores = stored if stored & read else frozenset[str]()
    return Step(lists and pure, forms and pure, keeps and pure, scales and pure, several, stores, changes)


def _depends(nodes: Sequence[ast.AST], known: set[str]) -> bool:
    """Returns whether nodes draw random numbers or compute a statistic of a `known` variable."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return any(draws(call) or (names_in(call) & known and not _has_form(call, known)) for call in calls)


def _of_form(name: str, nodes: Sequence[ast.AST], simple: Set[str]) -> set[str]:
    """Returns the variables with the same form as a parameter. The result also contains the functions that keep the
    form (as `name()`) and the variables that are sums (as `/name`)."""
    known = {name, *(f"{each}()" for each in simple)}
    assigned = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
    for statement in sorted(assigned, key=lambda each: each.lineno):
        target = statement.targets[0]
        assert isinstance(target, ast.Name)
        known |= {f"/{target.id}"} if _sums(statement.value, known) else set()
        if _has_form(statement.value, known):
            known.add(target.id)
        else:
            known.discard(target.id)
    return known


def _has_form(node: ast.expr, known: set[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in known
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _has_form(inner, known)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow(), right=right):
            # Division by a sum may normalise a distribution.
            shares = isinstance(node.op, ast.Div) and _sums(right, known)
            return not shares and (_has_form(left, known) or _has_form(right, known))
        case ast.IfExp(body=body, orelse=other):
            return _has_form(body, known) and _has_form(other, known)
        case ast.Call(func=called, args=[first, *_]) if f"{last_name(called)}()" in known:
            return _has_form(first, known)
        case ast.Call(func=called, args=args) if last_name(called) in _ELEMENTWISE:
            objects = [called.value] if isinstance(called, ast.Attribute) else []
            # `max(x, axis=0)` reduces its argument, but `max(x, 0)` does not.
            reduces = last_name(called) in ("max", "min") and len(args) < 2
            return not reduces and any(_has_form(each, known) for each in (*args, *objects))
    return False


def _sums(node: ast.expr, known: set[str]) -> bool:
    parts = [*ast.walk(node)]
    calls = (last_name(each.func) for each in parts if isinstance(each, ast.Call))
    return any("sum" in words_of(name) for name in calls) or any(f"/{last_name(each)}" in known for each in parts)


def _bounded(node: ast.expr) -> Sequence[ast.expr]:
    bounds = isinstance(node, ast.Call) and last_name(node.func) in ("max", "min", "maximum", "minimum", "clip")
    return node.args if isinstance(node, ast.Call) and bounds else [node]


def _scales(node: ast.expr, name: str) -> bool:
    """Returns whether an expression is a multiple of a variable, such as `max(low, rate * decay)` or `rate / (1 +
    decay)`. Returns false for differences (`rate - step`) and means (`total / count`)."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            sides = [(left, right), (right, left)]
        case ast.BinOp(left=left, op=ast.Div(), right=ast.BinOp() as right):
            sides = [(left, right)]
        case _:
            return False
    return any(
        (ast.unparse(one) == name or _scales(one, name)) and name not in map(ast.unparse, ast.walk(other))
        for one, other in sides
    )


class Forms:
    """Analyses the calls in a file. `own` is the result of `own_steps`."""

    def __init__(self, tree: ast.Module, own: Mapping[str, Step]) -> None:
        self.own = own
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        self.libraries = {each.asname or each.name.partition(".")[0] for node in imports for each in node.names}
        self.libraries -= own.keys()
        self.made: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target, value in _pairs(node.targets[0], node.value):
                    if name := _name(target):
                        self.made[name] = value

    def keeps(self, call: ast.Call) -> bool:
        """Returns whether a call returns a value in the same form as its first argument."""
        function, name = call.func, last_name(call.func)
        if name in self.own and root_name(function) not in self.libraries:
            return self.own[name].keeps or self.own[name].lists
        made = function if isinstance(function, ast.Call) else self.made.get(_name(function))
        by_method = made is None and isinstance(function, ast.Attribute)
        if isinstance(function, ast.Attribute) and by_method:
            made = self.made.get(_name(function.value))
        if not isinstance(made, ast.Call) or not last_name(made.func)[:1].isupper() or not _sets_no_size(made):
            return False
        given = [*call.args[1:], *(each.value for each in call.keywords)]
        given += function.args if isinstance(function, ast.Call) else []
        return (by_method or regularises(made)) and all(isinstance(each, ast.Constant) for each in given)


def regularises(made: ast.Call) -> bool:
    """Returns whether a layer's constructor accepts a rate or a variable. All other layers are activations or change
    the form."""
    given = [*made.args, *(each.value for each in made.keywords)]
    return any(not isinstance(each, ast.Constant) or isinstance(each.value, float) for each in given)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


def _name(node: ast.AST) -> str:
    return f".{node.attr}" if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_size(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return any(isinstance(each, ast.Constant) and type(each.value) is int and each.value > 1 for each in parts)


def _sets_no_size(made: ast.Call) -> bool:
    given = [*made.args, *(each.value for each in made.keywords)]
    return not any(map(_is_size, given)) and sum(not isinstance(each, ast.Constant) for each in given) < 2
