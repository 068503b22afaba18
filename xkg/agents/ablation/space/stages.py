"""Finds code that can be changed in place: stages of a method, which can be removed, and calls that have an
alternative. A stage is a layer in a model, a call whose return value has the same form as its argument, or a statement
that changes a shared object."""

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from xkg.agents.ablation.candidates import Kind, Place, Replacement
from xkg.agents.ablation.space.exclusions import beside_the_method, measures, trains
from xkg.agents.ablation.space.forms import Forms, Step, regularises
from xkg.agents.ablation.space.probes import VALUE
from xkg.agents.ablation.space.python_source import (
    Function,
    PythonSource,
    last_name,
    names_in,
    root_name,
    words_of,
)  # fmt: skip
from xkg.value import Value

_LONGEST = 60  # the maximum length of the code in a name


class Change(Value):
    """One way to change a site or a switch. `probe` has the same meaning as in `Candidate`."""

    kind: Kind
    value: str
    replacements: tuple[Replacement, ...]
    probe: tuple[Replacement, ...] = ()


class Site(Value):
    """Code that can be ablated. `text` is the code, and `what` describes it. `step` is the callee or object whose calls
    form one step of a method and are removed together."""

    what: str
    text: str
    place: Place
    changes: tuple[Change, ...]
    step: str = ""


class Around(NamedTuple):
    """The context of a statement. `loop` contains the statements of the innermost loop, and is empty outside loops.
    `formula` means that the function computes a value element by element."""

    loop: Sequence[ast.stmt]
    beside: Set[str]
    forms: Forms
    formula: bool


def of_one(source: PythonSource, node: ast.expr, *values: tuple[Kind, str, str]) -> tuple[Change, ...]:
    """Returns changes to one expression, each as (kind, readable value, new code)."""
    probe = (source.replaced(node, VALUE),)
    return tuple(
        Change(kind=kind, value=value, replacements=(source.replaced(node, new),), probe=probe)
        for kind, value, new in values
    )


def short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def sites(source: PythonSource, own: Mapping[str, Step]) -> Iterator[Site]:
    """Returns the sites in a file in line order, without duplicates. `own` is the result of `own_steps`."""
    seen: set[tuple[int, int]] = set()
    found = []
    beside = beside_the_method(source.tree)
    forms = Forms(source.tree, own)
    for name, scope in [("", source.tree), *source.functions]:
        formula = name.rpartition(".")[2] in own and own[name.rpartition(".")[2]].forms
        for statement, loop in _statements(scope):
            if not isinstance(statement, ast.Assign | ast.Return | ast.Expr | ast.AugAssign):
                continue
            for site in stages(source, statement, Around(loop, beside, forms, formula)):
                at = (site.changes[0].replacements[0].start, site.changes[0].replacements[0].end)
                if at not in seen:
                    seen.add(at)
                    found.append(site)
    return iter(sorted(found, key=lambda site: (site.place.start_line, site.changes[0].replacements[0].start)))


def _statements(scope: ast.AST, loop: Sequence[ast.stmt] = ()) -> Iterator[tuple[ast.stmt, Sequence[ast.stmt]]]:
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(scope, name, ()):
            if isinstance(statement, Function | ast.ClassDef):
                continue
            if isinstance(statement, ast.stmt):
                yield statement, loop
            repeats = isinstance(statement, ast.For | ast.AsyncFor | ast.While)
            yield from _statements(statement, [*ast.walk(statement)] if repeats else loop)  # type: ignore[list-item]


def alternatives(sources: Sequence[PythonSource], executed: Mapping[str, frozenset[int]] | None) -> Iterator[Site]:
    """Yields calls to a function or class that can be replaced with another function or class from the same file. The
    replacement must have the same parameters and methods, and the run must not use it."""
    used = _used(sources, executed)
    for source in sources:
        by_signature: dict[str, list[str]] = {}
        for top in source.tree.body:
            if isinstance(top, Function | ast.ClassDef) and (of := _signature(top)):
                by_signature.setdefault(of, []).append(top.name)
        others = {name: [o for o in group if o != name] for group in by_signature.values() for name in group}
        for other in sources:
            for node in ast.walk(other.tree):
                called = node.func if isinstance(node, ast.Call) else None
                if not isinstance(called, ast.Name) or not others.get(called.id):
                    continue
                within = other.symbol_at(called.lineno).rpartition(".")[2]
                known = {*_names_of(other)}
                values = [
                    new for new in others[called.id][:3] if within not in (called.id, new) and new in known - used
                ]
                if values:
                    yield Site(
                        what="the function", text=called.id, place=other.place(called),
                        changes=of_one(other, called, *(("replace", new, new) for new in values)),
                    )  # fmt: skip


def _used(sources: Sequence[PythonSource], executed: Mapping[str, frozenset[int]] | None) -> set[str]:
    """Returns the functions and classes that the run calls. If the executed lines are unknown, returns those that any
    code calls."""
    found = set()
    for source in sources:
        ran = None if executed is None else executed.get(source.path, frozenset())
        if ran is None:
            found |= {last_name(n.func) for n in ast.walk(source.tree) if isinstance(n, ast.Call)}
            continue
        for name, function in source.functions:
            if any(line in ran for line in range(function.body[0].lineno, (function.end_lineno or 0) + 1)):
                found |= {*name.split(".")}
    return found


def _names_of(source: PythonSource) -> Iterator[str]:
    for node in source.tree.body:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """Returns a signature for comparison. A function's signature consists of its parameters, if there are several, and
    the number of return values. A class's signature consists of its methods with their signatures."""
    if isinstance(node, ast.ClassDef):
        methods = sorted(f"{f.name}({_parameters(f)}){_returned(f)}" for f in node.body if isinstance(f, Function))
        if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
            fields = (f.target.id for f in node.body if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name))
            methods.append(f"__init__({','.join(fields)})")
        return " ".join(methods) if any(not each.startswith("__init__") for each in methods) else ""
    parameters = _parameters(node)
    return f"{parameters} {_returned(node)}" if "," in parameters else ""


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[int]:
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
    return sorted({len(value.elts) if isinstance(value, ast.Tuple) else 1 for value in values})


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = function.args
    return ",".join(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def stages(source: PythonSource, statement: ast.stmt, around: Around) -> Iterator[Site]:
    alone = isinstance(statement, ast.Assign) and len(statement.targets) == 1
    target = source.code(statement.targets[0]) if isinstance(statement, ast.Assign) and alone else ""
    yield from _of_own_functions(source, statement, target, around)
    if isinstance(statement, ast.Assign) and alone:
        if root_name(statement.value) not in around.beside and _else_set(source, statement, target, around):
            yield from _identity(source, statement, target, around)
        yield from _standardised(source, statement, around)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield from _layer(source, statement, statement.value, around)
        yield from _procedure(source, statement, statement.value, around)


def _of_own_functions(source: PythonSource, statement: ast.stmt, target: str, around: Around) -> Iterator[Site]:
    """Yields sites for `y = f(x)`, `return f(x)` and `g(f(x))`, if f is a repository function that changes x element by
    element. Skips factors and terms of a formula. Also skips calls with a boolean argument, because it selects a
    different use of the function."""
    inside = {id(each) for node in ast.walk(statement) for each in _operands(node)}
    for call in ast.walk(statement) if not around.formula else ():
        if not isinstance(call, ast.Call) or not call.args or id(call) in inside:
            continue
        name = last_name(call.func)
        flagged = any(isinstance(each, ast.Constant) and isinstance(each.value, bool) for each in _given(call)[1:])
        step = around.forms.own.get(name)
        foreign = root_name(call.func) in around.forms.libraries
        given = isinstance(call.args[0], ast.Constant)
        if flagged or foreign or given or step is None or measures(name) or _learns(name):
            continue
        if step.several == len(call.args) > 1:
            yield _left_out(source, call, f"({', '.join(map(source.code, call.args))})", name)
        if not step.keeps or not (step.scales or _is_alone(call, around)):
            continue
        argument = source.code(call.args[0])
        if argument == target and not (step.scales or _else_set(source, statement, target, around)):
            continue
        new = argument if isinstance(call.args[0], ast.Name | ast.Attribute | ast.Call) else f"({argument})"
        yield _left_out(source, call, new, name, alone=isinstance(statement, ast.Expr) and call is statement.value)


def _learns(name: str) -> bool:
    """Returns whether a function's name suggests training, which cannot be removed. `fit_transform` does not count,
    because it also scales."""
    return not {"fit", "train"}.isdisjoint(words_of(name)) and "transform" not in words_of(name)


def _is_alone(call: ast.Call, around: Around) -> bool:
    """Returns whether a call's first argument is the only one that changes in the enclosing loop. A call that combines
    several changing values (such as candidates and their scores) is not a stage of the method, but its core."""
    others = {name for each in _given(call)[1:] for name in names_in(each)}
    return others.isdisjoint(
        name.id
        for each in around.loop
        if isinstance(each, ast.Assign | ast.AugAssign | ast.For)
        for target in ([each.target] if isinstance(each, ast.For) else targets(each))
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    )


def _operands(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=operand) | ast.AugAssign(value=operand):
            return [operand]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Call(func=ast.Attribute(attr="multiply"), args=args):
            return args
    return []


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _left_out(source: PythonSource, call: ast.Call, new: str, step: str, *, alone: bool = False) -> Site:
    """Returns a site that replaces a call with `new`. If `alone` is set, the call is a complete statement, and no code
    uses its value."""
    [change] = of_one(source, call, ("toggle", "identity", new))
    return Site(
        what="the call", text=short(source.code(call)), place=source.place(call),
        changes=(change.model_copy(update={"probe": ()}) if alone else change,), step=step,
    )  # fmt: skip


def _identity(source: PythonSource, statement: ast.Assign, target: str, around: Around) -> Iterator[Site]:
    call = statement.value
    if not isinstance(call, ast.Call) or not isinstance(statement.targets[0], ast.Name | ast.Attribute):
        return
    name = last_name(call.func)
    changed = bool(call.args) and source.code(call.args[0]) == target and _is_alone(call, around)
    if changed and not _learns(name) and not measures(name) and around.forms.keeps(call):
        yield _left_out(source, call, target, name if name in around.forms.own else root_name(call.func))


def _else_set(source: PythonSource, statement: ast.stmt, target: str, around: Around) -> bool:
    """Returns whether other code in the loop also assigns the statement's target. If so, the target still changes when
    the statement is removed. Returns true outside loops."""
    others = [each for each in around.loop if each is not statement and isinstance(each, ast.Assign | ast.AugAssign)]
    return not around.loop or any(target in map(source.code, targets(each)) for each in others)


def targets(statement: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    if isinstance(statement, ast.AugAssign):
        return [statement.target]
    return [one for each in statement.targets for one in (each.elts if isinstance(each, ast.Tuple) else [each])]


def _standardised(source: PythonSource, statement: ast.Assign, around: Around) -> Iterator[Site]:
    match value := _without_constants(statement.value):
        case ast.BinOp(left=ast.BinOp(left=x, op=ast.Sub(), right=shift), op=ast.Div(), right=scale):
            code = source.code(x)
            if isinstance(x, ast.Name | ast.Attribute) and all(_from(each, code, around) for each in (shift, scale)):
                yield Site(
                    what="the scaling", text=short(source.code(value)), place=source.place(statement),
                    changes=of_one(source, statement.value, ("toggle", "unchanged", code)),
                )  # fmt: skip


def _without_constants(value: ast.expr) -> ast.expr:
    while isinstance(value, ast.BinOp) and isinstance(value.right, ast.Constant):
        value = value.left
    return value


def _from(node: ast.expr, code: str, around: Around) -> bool:
    made = around.forms.made
    parts = [node, *(made[each.id] for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in made)]
    return any(ast.unparse(each) == code for part in parts for each in ast.walk(part) if isinstance(each, ast.expr))


def _layer(source: PythonSource, statement: ast.Expr, call: ast.Call, around: Around) -> Iterator[Site]:
    """Yields sites for `model.add(Dropout(0.25))`. Without the statement, the model has one fewer layer."""
    if not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return
    part = call.args[0]
    # A call in a loop usually adds an item to a population, not a layer to a model.
    if not isinstance(part, ast.Call) or not regularises(part) or around.loop:
        return
    sized = len(part.args) > 1  # the layer changes the size, and other layers rely on the new size
    if call.func.attr in ("add", "append", "push") and last_name(part.func)[:1].isupper() and not sized:
        yield _passed_over(source, statement, "the part", source.code(part))


def _procedure(source: PythonSource, statement: ast.Expr, call: ast.Call, around: Around) -> Iterator[Site]:
    """Yields sites for `shuffle(rows)`, and for calls in a loop to the repository's functions. Yields such a call only
    if other code in the loop also changes everything that it changes. Otherwise, nothing of the method would remain."""
    name = last_name(call.func)
    if name == "shuffle" and name not in around.forms.own:
        yield _passed_over(source, statement, "the stage", source.code(call))
    step = around.forms.own.get(name)
    if step is None or not around.loop or trains(name) or measures(name):
        return
    given = [root_name(each) for i, each in enumerate(call.args) if i in step.changes]
    changed = {*(f".{each}" for each in step.stores), *given}
    others = [each for each in around.loop if isinstance(each, ast.stmt) and each is not statement]
    if changed and changed <= {name for each in others for name in _changed(each, call, around)}:
        yield _passed_over(source, statement, "the stage", source.code(call))


def _changed(statement: ast.stmt, besides: ast.Call, around: Around) -> Iterator[str]:
    """Yields the variables and attributes that a statement changes, directly or through calls. Attributes have a
    leading dot."""
    if isinstance(statement, ast.Assign | ast.AugAssign):
        for target in targets(statement):
            yield root_name(target)
            yield from (f".{each.attr}" for each in ast.walk(target) if isinstance(each, ast.Attribute))
    for call in (each for each in ast.walk(statement) if isinstance(each, ast.Call)):
        name = last_name(call.func)
        if name in around.forms.own and name != last_name(besides.func):
            yield from (f".{each}" for each in around.forms.own[name].stores)


def _passed_over(source: PythonSource, statement: ast.stmt, what: str, code: str) -> Site:
    change = Change(kind="toggle", value="left out", replacements=(source.replaced(statement, "pass"),))
    return Site(what=what, text=short(code), place=source.place(statement), changes=(change,))
