"""What can be changed inside functions and keeps its shape: terms of a sum, calls that can be the identity, updates in
place, and blocks behind a flag."""

import ast
from collections.abc import Iterator, Sequence, Set

from xkg.agents.ablation.candidates import Kind, Place, Replacement
from xkg.agents.ablation.space.exclusions import beside_the_method, is_layout, is_work, splits_data
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

_OBJECTIVE = frozenset("loss losses objective cost energy penalty regularizer elbo criterion".split())
_LONGEST = 60  # characters of code in a name


class Change(Value):
    """One way to change a site, or a switch; `probe` is as of a candidate."""

    kind: Kind
    value: str
    replacements: tuple[Replacement, ...]
    probe: tuple[Replacement, ...] = ()


class Site(Value):
    """Code that can be ablated: `text` is what stands there, `what` says what it is, `names` are those that it reads.
    `objective`: a term of a sum that is called a loss."""

    what: str
    text: str
    place: Place
    changes: tuple[Change, ...]
    names: tuple[str, ...]
    objective: bool = False


_FOLLOWED = frozenset(
    "backward grad value_and_grad jacobian jacrev jacfwd hessian gradient compile minimize fmin fmin_bfgs fmin_cg"
    " fmin_l_bfgs_b basinhopping differential_evolution least_squares".split()
)


def is_minimized(sources: Sequence[PythonSource]) -> bool:
    """Whether a library may differentiate or minimize what the code computes; else a loss is a number to look at, since
    its gradient is code of its own."""
    own = {name.rpartition(".")[2] for source in sources for name, _ in source.functions}
    called = {last_name(n.func) for source in sources for n in ast.walk(source.tree) if isinstance(n, ast.Call)}
    return bool(called & _FOLLOWED - own)


def sites(source: PythonSource) -> Iterator[Site]:
    """The sites of all functions of a file, in the order of their lines, each once."""
    seen: set[tuple[int, int]] = set()
    found = []
    beside = beside_the_method(source.tree)
    for name, function in source.functions:
        objective = bool(_OBJECTIVE.intersection(words_of(name.rpartition(".")[2])))
        for statement in _statements(function):
            for site in _of_statement(source, statement, objective, beside):
                at = (site.changes[0].replacements[0].start, site.changes[0].replacements[0].end)
                if at not in seen:
                    seen.add(at)
                    found.append(site)
    return iter(sorted(found, key=lambda site: (site.place.start_line, site.changes[0].replacements[0].start)))


def _statements(function: Function) -> Iterator[ast.stmt]:
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and node is not function:
            yield node


def _of_statement(source: PythonSource, statement: ast.stmt, objective: bool, beside: Set[str]) -> Iterator[Site]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = source.code(statement.targets[0])
        named = bool(_OBJECTIVE.intersection(words_of(target)))
        yield from _terms(source, statement, statement.value, objective or named)
        if root_name(statement.value) not in beside:
            yield from _identity(source, statement, target)
    elif isinstance(statement, ast.Return) and statement.value is not None:
        yield from _terms(source, statement, statement.value, objective)
    elif isinstance(statement, ast.Expr):
        yield from _terms(source, statement, statement.value, False)
        yield from _layer(source, statement)
    elif isinstance(statement, ast.AugAssign):
        yield from _update(source, statement, objective)
    elif isinstance(statement, ast.If) and isinstance(statement.test, ast.Name | ast.Attribute):
        yield Site(
            what="the block behind",
            text=source.code(statement.test),
            place=source.place(statement.test),
            changes=_of_one(source, statement.test, ("toggle", "False", "False")),
            names=tuple(sorted(names_in(statement.test))),
        )


def _terms(source: PythonSource, statement: ast.stmt, value: ast.expr, objective: bool) -> Iterator[Site]:
    """The terms of each sum in an expression: off is zero times the term, which keeps its shape."""
    for chain in _sums(value):
        varying = [term for term in chain if not isinstance(term, ast.Constant)]
        if len(varying) < 2 or any(_is_text(term) for term in chain):
            continue
        for term in chain:
            if isinstance(term, ast.Constant) or (isinstance(term, ast.Name) and len(chain) == 2 and not objective):
                continue
            code = source.code(term)
            changes = _of_one(source, term, *((kind, factor, f"{factor} * ({code})") for kind, factor in _FACTORS))
            yield Site(
                what="the term", text=_short(code), place=_lines(source, term, statement), changes=changes,
                names=tuple(sorted(names_in(term))), objective=objective,
            )  # fmt: skip


_FACTORS: tuple[tuple[Kind, str], ...] = (("toggle", "0.0"), ("scale", "0.5"), ("scale", "2.0"))


def _sums(node: ast.AST, *, outermost: bool = True) -> Iterator[list[ast.expr]]:
    """The terms of every sum that is not an index or an argument of a range."""
    if isinstance(node, ast.Subscript):
        yield from _sums(node.value, outermost=outermost)
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "len", "print"):
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        terms = list(_flat(node))
        if outermost or _adds_alone(node):  # a difference inside a product is a residual
            yield terms
        for term in terms:
            yield from _sums(term, outermost=False)
        return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Lambda | ast.comprehension):
            yield from _sums(child, outermost=False)


def _adds_alone(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return isinstance(node.op, ast.Add) and _adds_alone(node.left)
    return True


def _flat(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _flat(node.left)
        yield node.right
    else:
        yield node


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Mult | ast.Add):
        return _is_text(node.left)
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp) or (
        isinstance(node, ast.Constant) and not isinstance(node.value, int | float)
    )


def _identity(source: PythonSource, statement: ast.Assign, target: str) -> Iterator[Site]:
    """`x = f(x, …)`: without the call x stays as it is, and keeps its shape where f does."""
    call = statement.value
    if not isinstance(call, ast.Call) or not isinstance(statement.targets[0], ast.Name | ast.Attribute):
        return
    first = call.args[0] if call.args else None
    itself = first is not None and source.code(first) == target
    method = isinstance(call.func, ast.Attribute) and source.code(call.func.value) == target
    name, called = last_name(call.func), call.func.value if isinstance(call.func, ast.Attribute) else call.func
    if not (itself or method) or is_layout(name) or splits_data(name) or _is_text(called):
        return
    yield Site(
        what="the call",
        text=_short(source.code(call)),
        place=source.place(call),
        changes=_of_one(source, call, ("toggle", "identity", target)),
        names=tuple(sorted(names_in(call.func))),
    )


def _layer(source: PythonSource, statement: ast.Expr) -> Iterator[Site]:
    """`model.add(Dropout(0.25))`: without the statement the list lacks one part."""
    call = statement.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return
    part = call.args[0]
    made = part.func if isinstance(part, ast.Call) else None
    name = made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else ""
    if call.func.attr not in ("add", "append", "push") or not name[:1].isupper():
        return
    yield Site(
        what="the part",
        text=_short(source.code(part)),
        place=source.place(statement),
        changes=(Change(kind="toggle", value="left out", replacements=(source.replaced(statement, "pass"),)),),
        names=(name,),
    )


def _update(source: PythonSource, statement: ast.AugAssign, objective: bool) -> Iterator[Site]:
    code = source.code(statement.value)
    if isinstance(statement.value, ast.Constant) or _is_text(statement.value):
        return
    target = source.code(statement.target)
    named = objective or bool(_OBJECTIVE.intersection(words_of(target)))
    if isinstance(statement.op, ast.Add | ast.Sub):
        factors = ((kind, factor, f"{factor} * ({code})") for kind, factor in _FACTORS)
        changes = _of_one(source, statement.value, *factors)
    elif isinstance(statement.op, ast.Mult | ast.Div):
        changes = _of_one(source, statement.value, ("toggle", "1.0", "1.0"))
    else:
        return
    yield Site(
        what="the update", text=_short(f"{target} … {code}"), place=source.place(statement), changes=changes,
        names=tuple(sorted(names_in(statement.value))), objective=named,
    )  # fmt: skip


def _of_one(source: PythonSource, node: ast.expr, *values: tuple[Kind, str, str]) -> tuple[Change, ...]:
    """Changes of one expression: kind, value in words, and what is written in its place."""
    probe = (source.replaced(node, VALUE),)
    return tuple(
        Change(kind=kind, value=value, replacements=(source.replaced(node, new),), probe=probe)
        for kind, value, new in values
    )


def _lines(source: PythonSource, term: ast.expr, statement: ast.stmt) -> Place:
    return source.place(term if term.lineno >= statement.lineno else statement)


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def alternatives(sources: Sequence[PythonSource]) -> Iterator[Site]:
    """Calls of a function beside which the same file defines another with the same parameters: replaced by that."""
    for source in sources:
        tops = [node for node in source.tree.body if isinstance(node, Function) and not is_work(node.name)]
        by_signature: dict[str, list[str]] = {}
        for function in tops:
            names = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
            if len(names) > 1:
                by_signature.setdefault(",".join(names), []).append(function.name)
        others = {name: [o for o in group if o != name] for group in by_signature.values() for name in group}
        for name, function in source.functions:
            for node in ast.walk(function):
                called = node.func if isinstance(node, ast.Call) else None
                if not isinstance(called, ast.Name) or not others.get(called.id) or name == called.id:
                    continue
                yield Site(
                    what="the function",
                    text=called.id,
                    place=source.place(called),
                    changes=_of_one(
                        source, called, *(("replace", other, other) for other in others[called.id][:3] if other != name)
                    ),
                    names=(called.id,),
                )
