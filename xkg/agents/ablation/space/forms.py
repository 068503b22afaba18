"""Decides which calls can be left out so that the code still works.

A function in the repository shows this by what it returns: a value computed element by element from its argument, as an
activation, a scaling or a mutation does. A library call shows it by its other arguments, and an object by the arguments
of its constructor. A size, a string or a second variable produces another form, as in `Linear(8, 3)(x)`, `conv(x, w)`
and `one_hot(x, 10)`; `Dropout(0.5)(x)` and `scale(x, axis=0)` keep the form."""

import ast
import builtins
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

_LAYOUT = frozenset(
    "array asarray atleast_1d atleast_2d reshape transpose swapaxes permute tile squeeze unsqueeze expand_dims flatten"
    " ravel view astype copy contiguous numpy to detach cpu".split()
)
_BOUNDS = ("clip", "clamp", "maximum", "minimum")
_TINY = 1e-5
_ELEMENTWISE = frozenset(
    "multiply exp expm1 log log1p tanh sin cos maximum max minimum min clip clamp abs fabs sqrt square power where sign"
    " round copy deepcopy asarray array astype float".split()
)


class Step(NamedTuple):
    """What a function in the repository does. `lists`: it stores nothing and returns a new list. `keeps`: it returns
    its first argument, changed element by element. `scales`: it returns a multiple of its first argument. `several`:
    the number of its arguments that it returns like this, if there are several. `stores`: the attributes that it
    stores. `changes`: the positions of the arguments whose contents it changes."""

    lists: bool
    keeps: bool
    scales: bool
    several: int
    stores: frozenset[str]
    changes: frozenset[int]


def own_steps(sources: Sequence[PythonSource]) -> dict[str, Step]:
    """The repository's functions, keyed by name. If several share a name, only what is true of all of them."""
    functions = [pair for source in sources for pair in source.functions]
    simple = {name for name, step in _steps(functions, frozenset()).items() if step.keeps}
    return _steps(functions, simple)


def _steps(functions: Sequence[tuple[str, Function]], simple: Set[str]) -> dict[str, Step]:
    found: dict[str, Step] = {}
    for name, function in functions:
        one, other = _step(function, simple), found.get(name.rpartition(".")[2])
        found[name.rpartition(".")[2]] = one if other is None else Step(
            one.lists and other.lists, one.keeps and other.keeps, one.scales and other.scales,
            one.several if one.several == other.several else 0, one.stores | other.stores, one.changes | other.changes,
        )  # fmt: skip
    return found


def _step(function: Function, simple: Set[str]) -> Step:
    """Analyses a function; `simple` are the functions that keep the form of their argument."""
    nodes = list(own_nodes(function))
    stored = frozenset(
        each.attr
        for node in nodes
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
        for each in [node.value if isinstance(node, ast.Subscript) else node]
        if isinstance(each, ast.Attribute)
    )
    arguments = [*function.args.posonlyargs, *function.args.args]
    names = [each.arg for each in arguments]
    own = names[1:] if names[:1] in (["self"], ["cls"]) else names
    required = len(own) - len(function.args.defaults)
    returned = [node.value for node in nodes if isinstance(node, ast.Return)]
    keeps = scales = lists = False
    if own and returned and None not in returned:
        values = [value for value in returned if value is not None]
        known = _of_form(own[0], nodes, simple)
        made = {last_name(n.targets[0]): n.value for n in nodes if isinstance(n, ast.Assign)}
        itself = all(isinstance(value, ast.Name) and value.id == own[0] for value in values) and own[0] not in made
        changed = itself and own[0] in changed_by(function)
        computed = all(_has_form(value, known) for value in values) and not itself
        scales = all(any(_scales(part, own[0]) for part in _bounded(value)) for value in values)
        lists = all(isinstance(made.get(last_name(value)), ast.List | ast.ListComp) for value in values)
        keeps = changed or (computed and required == 1) or scales
    several = max((len(each.elts) for each in returned if isinstance(each, ast.Tuple)), default=0)
    for value in returned:
        pairs = zip(value.elts, own, strict=False) if isinstance(value, ast.Tuple) else [(ast.Constant(0), "")]
        if several > len(own) or not all(_has_form(each, _of_form(name, nodes, simple)) for each, name in pairs):
            several = 0
    changes = frozenset(own.index(name) for name in changed_by(function) if name in own)
    return Step(lists and not stored, keeps and not stored, scales and not stored, several, stored, changes)


def _of_form(name: str, nodes: Sequence[ast.AST], simple: Set[str]) -> set[str]:
    """The variables with the same form as a parameter and, with brackets, the functions that keep it."""
    known = {name, *(f"{each}()" for each in simple)}
    assigned = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
    for statement in sorted(assigned, key=lambda each: each.lineno):
        target = statement.targets[0]
        assert isinstance(target, ast.Name)
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
            return not _makes_shares(node) and (_has_form(left, known) or _has_form(right, known))
        case ast.IfExp(body=body, orelse=other):
            return _has_form(body, known) and _has_form(other, known)
        case ast.Call(func=called, args=[first, *_]) if f"{last_name(called)}()" in known:
            return _has_form(first, known)
        case ast.Call(func=called, args=args) if last_name(called) in _ELEMENTWISE:
            objects = [called.value] if isinstance(called, ast.Attribute) else []
            # `max(x, axis=0)` reduces, `max(x, 0)` does not.
            reduces = last_name(called) in ("max", "min") and len(args) < 2
            return not reduces and any(_has_form(each, known) for each in (*args, *objects))
    return False


def _makes_shares(node: ast.BinOp) -> bool:
    """Whether a division normalises values by their sum: without it, they are not a distribution."""
    named = (each.right for each in [node] if isinstance(node.op, ast.Div))
    return any("sum" in words_of(last_name(c.func)) for n in named for c in ast.walk(n) if isinstance(c, ast.Call))


def _bounded(node: ast.expr) -> Sequence[ast.expr]:
    """The arguments of `max` and `min`, or the expression itself."""
    bounds = isinstance(node, ast.Call) and last_name(node.func) in ("max", "min", *_BOUNDS)
    return node.args if isinstance(node, ast.Call) and bounds else [node]


def _scales(node: ast.expr, name: str) -> bool:
    """Whether an expression is a multiple of a variable. `max(low, rate * decay)` and `rate / (1 + decay)` are; `rate -
    step` and the mean `total / count` are not."""
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


def scaled(node: ast.expr, target: str) -> bool:
    """Whether a value is a multiple of its target, within bounds."""
    return any(_scales(part, target) for part in _bounded(node))


class Forms:
    """The calls in a file. `own` comes from `own_steps`."""

    def __init__(self, tree: ast.Module, own: Mapping[str, Step]) -> None:
        self.own = own
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        self.libraries = {each.asname or each.name.partition(".")[0] for node in imports for each in node.names}
        self.libraries -= own.keys()
        self.made: dict[str, ast.expr] = {}
        self._lists: set[str] = set()
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[target], value=value):
                    for one, part in _pairs(target, value):
                        if name := _name(one):
                            self.made[name] = part
                            self._lists |= {name} if isinstance(part, ast.List | ast.ListComp) else set()
                case ast.Call(func=ast.Attribute(value=value, attr="append")):
                    self._lists.add(_name(value))

    def is_drawn(self, node: ast.expr) -> bool:
        """Whether an expression reads random numbers."""
        parts = [node, *(self.made[_name(each)] for each in ast.walk(node) if _name(each) in self.made)]
        return any(draws(each) for part in parts for each in ast.walk(part))

    def keeps(self, call: ast.Call) -> bool:
        """Whether a call may return a value with the form of its first argument."""
        function, name = call.func, last_name(call.func)
        if name in self.own and root_name(function) not in self.libraries:
            return self.own[name].keeps or self.own[name].lists
        layout = name in _LAYOUT or hasattr(builtins, name) or (bool(name) and _LAYOUT.issuperset(words_of(name)))
        if name in _BOUNDS and root_name(function) in self.libraries:
            return not any(_guards(arg) for arg in call.args)
        if layout or _name(call.args[0]) in self._lists or not _are_plain(call.args[1:], call.keywords):
            return False
        if isinstance(function, ast.Call):
            return all(map(_is_share, function.args))
        if root_name(function) in self.libraries:
            # A class makes another type; a function from math takes a single number and is part of a formula.
            return not name[:1].isupper() and root_name(function) != "math"
        objects = [function, function.value] if isinstance(function, ast.Attribute) else [function]
        made = next((self.made[_name(each)] for each in objects if _name(each) in self.made), None)
        return isinstance(made, ast.Call) and _sets_no_size(made)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        yield from zip(target.elts, value.elts, strict=False)
    else:
        yield target, value


def _name(node: ast.AST) -> str:
    """The name of a variable, or of an attribute with a dot."""
    return f".{node.attr}" if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _are_plain(args: list[ast.expr], keywords: list[ast.keyword]) -> bool:
    named = (each.value for each in keywords)
    return all(map(_is_share, args)) and not any(map(_is_size, named))


def _guards(bound: ast.expr) -> bool:
    """Whether a bound only keeps numbers from being 0."""
    tiny = isinstance(bound, ast.Constant) and isinstance(bound.value, float) and 0 < abs(bound.value) < _TINY
    return tiny or any("eps" in each.lower() for each in names_in(bound))


def _is_share(node: ast.expr) -> bool:
    """Whether a value is a number that is not a size: an axis, a rate or a flag."""
    number = node.operand if isinstance(node, ast.UnaryOp) else node
    constant = isinstance(number, ast.Constant) and isinstance(number.value, bool | int | float | None)
    return constant and not _is_size(node)


def _is_size(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return any(isinstance(each, ast.Constant) and type(each.value) is int and each.value > 1 for each in parts)


def _sets_no_size(made: ast.Call) -> bool:
    given = [*made.args, *(each.value for each in made.keywords)]
    return not any(map(_is_size, given)) and sum(not isinstance(each, ast.Constant) for each in given) < 2
