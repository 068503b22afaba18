"""Finds changes inside functions that preserve the form of values: terms in a sum, calls that can become the identity,
in-place updates, and blocks behind a flag."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from xkg.agents.ablation.space.exclusions import beside_the_method
from xkg.agents.ablation.space.forms import Forms, Step
from xkg.agents.ablation.space.python_source import Function, PythonSource, factors, last_name, names_in, words_of
from xkg.agents.ablation.space.site import Around, Site, lines_at, of_one, short
from xkg.agents.ablation.space.stages import ends_formula, is_count, is_own_sum, stages, targets

_OBJECTIVE = frozenset("loss losses objective cost energy penalty regularizer elbo criterion".split())


def sites(source: PythonSource, own: Mapping[str, Step]) -> Iterator[Site]:
    """The sites in a file, in line order, each once. `own` comes from `own_steps`."""
    seen: set[tuple[int, int]] = set()
    found = []
    beside = beside_the_method(source.tree)
    forms = Forms(source.tree, own)
    for name, scope in [("", source.tree), *source.functions]:
        objective = bool(_OBJECTIVE.intersection(words_of(name.rpartition(".")[2])))
        formula = name.rpartition(".")[2] in own and own[name.rpartition(".")[2]].keeps
        for statement, block, loop in _statements(scope):
            for site in _of_statement(source, statement, Around(block, loop, objective, beside, forms, formula)):
                at = (site.changes[0].replacements[0].start, site.changes[0].replacements[0].end)
                if at not in seen:
                    seen.add(at)
                    found.append(site)
    return iter(sorted(found, key=lambda site: (site.place.start_line, site.changes[0].replacements[0].start)))


def _statements(
    scope: ast.AST, loop: Sequence[ast.stmt] = ()
) -> Iterator[tuple[ast.stmt, Sequence[ast.stmt], Sequence[ast.stmt]]]:
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        block: Sequence[ast.stmt] = getattr(scope, name, ())
        for statement in block:
            if isinstance(statement, Function | ast.ClassDef):
                continue
            if isinstance(statement, ast.stmt):
                yield statement, block, loop
            repeats = isinstance(statement, ast.For | ast.AsyncFor | ast.While)
            yield from _statements(statement, [*ast.walk(statement)] if repeats else loop)  # type: ignore[list-item]


def _of_statement(source: PythonSource, statement: ast.stmt, around: Around) -> Iterator[Site]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = source.code(statement.targets[0])
        named = bool(_OBJECTIVE.intersection(words_of(target)))
        yield from _terms(source, statement, statement.value, objective=around.objective or named, target=target)
    elif isinstance(statement, ast.Return) and statement.value is not None:
        yield from _terms(source, statement, statement.value, objective=around.objective)
    elif isinstance(statement, ast.Expr):
        yield from _terms(source, statement, statement.value, objective=False)
    elif isinstance(statement, ast.AugAssign):
        yield from _terms(source, statement, statement.value, objective=False)
        yield from _update(source, statement, around)
    elif isinstance(statement, ast.If) and isinstance(statement.test, ast.Name | ast.Attribute):
        yield Site(
            what="the block behind",
            text=source.code(statement.test),
            place=source.place(statement.test),
            changes=of_one(source, statement.test, ("toggle", "False", "False")),
            names=tuple(sorted(names_in(statement.test))),
            alone=False,
        )
    if isinstance(statement, ast.Assign | ast.Return | ast.Expr | ast.AugAssign):
        yield from stages(source, statement, around)


def _terms(
    source: PythonSource, statement: ast.stmt, value: ast.expr, *, objective: bool, target: str = ""
) -> Iterator[Site]:
    """The terms of each sum in an expression. A term is switched off by a factor of zero, which keeps its shape. The
    first term of a sum is the main part. Other terms are tried alone only in a loss and in a running value (`v = decay
    * v + step`); a single step in a running value is kept, since otherwise nothing would change."""
    for chain, apart in _sums(value):
        varying = [term for term in chain if not isinstance(term, ast.Constant)]
        if len(varying) < 2 or any(_is_text(term) for term in chain):
            continue
        again = [term for term in chain if any(source.code(part) == target for part in factors(term))]
        rest = [term for term in varying if term not in again]
        for term in varying:
            bare = isinstance(term, ast.Name | ast.Attribute)
            weighed = isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult)
            kept = source.code(term) == target or (term in rest and len(rest) == 1) if again and apart else False
            first = source.code(chain[0])
            moves = term is not chain[0] and not objective and first in map(source.code, _parts(term))
            if kept or moves or (bare and len(chain) == 2 and not objective) or not (apart or weighed):
                continue
            alone = apart and (objective or bool(again))
            code = source.code(term)
            yield Site(
                what="the term", text=short(code), place=lines_at(source, term, statement),
                changes=of_one(source, term, ("toggle", "0.0", f"0.0 * ({code})")),
                names=tuple(sorted(names_in(term))), objective=objective, step=_factor(term),
                alone=alone and not any(_alike(term, other) for other in chain if other is not term),
            )  # fmt: skip


def _factor(term: ast.expr) -> str:
    """The first factor of a term, if it has a name: `decay * mean` and `decay * variance` are one step."""
    first = term
    while isinstance(first, ast.BinOp) and isinstance(first.op, ast.Mult):
        first = first.left
    return ast.unparse(first) if first is not term and isinstance(first, ast.Name | ast.Attribute) else ""


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    return (each for each in ast.walk(node) if isinstance(each, ast.expr))


def _alike(one: ast.expr, other: ast.expr) -> bool:
    """Whether two terms have the same form (`a * log(a) + b * log(b)`), as in a norm, an entropy or a distance."""
    forms = [[type(each) for each in ast.walk(node) if not isinstance(each, ast.Load)] for node in (one, other)]
    called = [sorted(last_name(each.func) for each in ast.walk(n) if isinstance(each, ast.Call)) for n in (one, other)]
    return forms[0] == forms[1] or (bool(called[0]) and called[0] == called[1])


def _sums(node: ast.AST, *, outermost: bool = True) -> Iterator[tuple[list[ast.expr], bool]]:
    """The terms of every sum that is not an index or a range argument, and whether the sum is a complete expression: a
    difference inside a product is a residual."""
    if isinstance(node, ast.Subscript):
        yield from _sums(node.value, outermost=outermost)
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", "len", "print"):
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        terms = list(_flat(node))
        yield terms, outermost or _adds_alone(node)
        for term in terms:
            yield from _sums(term, outermost=False)
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv):  # could divide by 0
        yield from _sums(node.left, outermost=False)
        return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.comprehension):
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


def _update(source: PythonSource, statement: ast.AugAssign, around: Around) -> Iterator[Site]:
    """Sites for `rate *= decay`, `x *= mask`, and `loss += penalty` after the loss was computed. Any other sum is
    something that a method learns or counts, so it is kept."""
    value, target = statement.value, source.code(statement.target)
    named = around.objective or bool(_OBJECTIVE.intersection(words_of(target)))
    before = around.block[: around.block.index(statement)]
    computed = [each for each in before if isinstance(each, ast.Assign) and target in map(source.code, targets(each))]
    match statement.op:
        case ast.Add() | ast.Sub() if named and any(not isinstance(each.value, ast.Constant) for each in computed):
            new = f"0.0 * ({source.code(value)})"
        case ast.Mult() | ast.Div() if named or not ends_formula(source, statement, value, target, around):
            new = "1.0"
        case _:
            return
    counts = isinstance(statement.op, ast.Div) and is_count(value, target, around)
    if not counts and not isinstance(value, ast.Constant) and not is_own_sum(source, value, target):
        yield Site(
            what="the update", text=short(f"{target} … {source.code(value)}"), place=source.place(statement),
            changes=of_one(source, value, ("toggle", new.partition(" ")[0], new)),
            names=tuple(sorted(names_in(value))), objective=named,
        )  # fmt: skip


def alternatives(sources: Sequence[PythonSource], executed: Mapping[str, frozenset[int]] | None) -> Iterator[Site]:
    """Calls of a function or class that can be replaced by another from the same file. The replacement must have the
    same parameters and methods, and must not be used by the run."""
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
                        names=(called.id,),
                    )  # fmt: skip


def _used(sources: Sequence[PythonSource], executed: Mapping[str, frozenset[int]] | None) -> set[str]:
    """The functions and classes that the run calls; if it is unknown what ran, all those that the code mentions."""
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
    """The names that a module defines or imports."""
    for node in source.tree.body:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """The signature of a function that has several parameters: its parameters and the number of values that it returns.
    For a class, its methods with theirs."""
    if isinstance(node, ast.ClassDef):
        methods = sorted(f"{f.name}({_parameters(f)}){_returned(f)}" for f in node.body if isinstance(f, Function))
        return " ".join(methods) if any(not each.startswith("__init__") for each in methods) else ""
    parameters = _parameters(node)
    return f"{parameters} {_returned(node)}" if "," in parameters else ""


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[int]:
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
    return sorted({len(value.elts) if isinstance(value, ast.Tuple) else 1 for value in values})


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = function.args
    return ",".join(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
