"""Finds names that a starter reads only to measure results, such as a test set's labels or a bandit's true
probabilities.

If an edit reads such a name, the method gets to see the answer. If an edit changes the function that assigns such a
name, the edit changes the test. Results of training and prediction are excluded, because they belong to the method."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from xkg.agents.ablation.space.exclusions import bodies, metric_code, trains
from xkg.agents.ablation.space.printed_values import printed_values
from xkg.agents.ablation.space.python_source import PythonSource, last_name
from xkg.agents.ablation.space.reported import only_prints
from xkg.agents.workspace.metric import Metric

_Bodies = Mapping[str, list[tuple[ast.stmt, bool]]]


def leaked(before: Sequence[PythonSource], after: Sequence[PythonSource], metric: Metric) -> dict[str, tuple[str, ...]]:
    """Returns the names, by `path::function`, that only the measurement used to read and that new statements now read
    too."""
    new = _bodies(after, metric)
    olds = _bodies(before, metric)
    kept = _only_measured_attributes(before, olds, printed_values(before, metric))
    found = {}
    for where in {**olds, **new}:
        old = olds.get(where, [])
        known = {text for statement, _ in old for text in _own(statement)}
        names = _only_measured(old)
        made = set[str]().union(*(_binds(statement) for statement, measures in old if not measures))
        read = {
            name
            for statement, measures in new.get(where, ())
            if not (measures and made.isdisjoint(_binds(statement))) and not known.issuperset(_own(statement))
            for name in _reads([statement])
            if name in names - _binds(statement) or _of_another(name) in kept
        }
        if read:
            found[where] = tuple(sorted(read))
    return found


def changed_sources(before: Sequence[PythonSource], after: Sequence[PythonSource], metric: Metric) -> tuple[str, ...]:
    """Returns the changed functions, as `path::function`, whose results were read only by the measurement."""
    makers: set[str] = set()
    for body in _bodies(before, metric).values():
        names = _only_measured(body)
        makers |= {
            last_name(statement.value.func)
            for statement, _ in body
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and _binds(statement) & names
        }
    code = {ast.unparse(function) for source in after for _, function in source.functions}
    return tuple(
        f"{source.path}::{name}"
        for source in before
        for name, function in source.functions
        if name.rpartition(".")[2] in makers and ast.unparse(function) not in code
    )


def _bodies(sources: Sequence[PythonSource], metric: Metric) -> _Bodies:
    """The statements in each body, paired with a flag that is True if the statement only takes measurements."""
    values = printed_values(sources, metric)
    written = {(place.path, place.start_line) for place in metric_code(sources, metric)[0]}
    found: dict[str, list[tuple[ast.stmt, bool]]] = {}
    for source in sources:
        for body in bodies(source):
            symbol = source.symbol_at(body[0].lineno) if body else ""
            where = f"{source.path}::{symbol}" if symbol else source.path
            texts = values.get(where, ())
            found[where] = [
                (each, (source.path, each.lineno) in written or ast.unparse(each) in texts) for each in body
            ]
    return found


def _only_measured(body: Sequence[tuple[ast.stmt, bool]]) -> set[str]:
    measuring = [statement for statement, measures in body if measures]
    others = [statement for statement, measures in body if not measures and not only_prints(statement)]
    learned = set[str]()
    for each in others:
        if isinstance(each, ast.Assign) and (learned & _reads([each]) or _trains(each.value)):
            learned |= _binds(each)
    return _reads(measuring) - _reads(others) - set[str]().union(*map(_binds, measuring)) - learned


def _only_measured_attributes(
    sources: Sequence[PythonSource], of: _Bodies, values: Mapping[str, Sequence[str]]
) -> set[str]:
    """The attributes of the code's objects that are set once, and that only the measurement reads from outside."""
    read: dict[bool, set[str]] = {True: set(), False: set()}
    for where, body in of.items():
        whole = any(text.startswith("def ") for text in values.get(where, ()))
        read[whole] |= {_of_another(name) for name in _reads([statement for statement, _ in body])}
    nodes = [node for source in sources for node in ast.walk(source.tree)]
    changed = [
        node for node in nodes if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    stored = Counter(each.attr for node in changed for each in ast.walk(node) if isinstance(each, ast.Attribute))
    return {name for name in read[True] - read[False] if stored[name] == 1}


def _of_another(name: str) -> str:
    """The attribute that a name such as `target.mean` reads from another object, or '' for other names."""
    owner, _, attribute = name.rpartition(".")
    return "" if owner in ("", "self") else attribute


def _trains(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and trains(last_name(value.func))


def _own(statement: ast.stmt) -> Iterator[str]:
    """Yields the expressions in a statement, except in nested statements."""
    yield from (ast.unparse(each) for each in ast.iter_child_nodes(statement) if not isinstance(each, ast.stmt))


def _reads(statements: Sequence[ast.stmt]) -> set[str]:
    """The names, and attributes of names, that statements read without calling."""
    found: set[str] = set()
    for statement in statements:
        waiting = [each for each in ast.iter_child_nodes(statement) if not isinstance(each, ast.stmt)]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(ast.unparse(node))
            inside = list(ast.iter_child_nodes(node))
            if isinstance(node, ast.Call):
                inside.remove(node.func)
                inside += ast.iter_child_nodes(node.func)
            waiting += inside
    return found


def _binds(statement: ast.stmt) -> Set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
