"""Code that can be ablated, and the code around it."""

import ast
from collections.abc import Sequence, Set
from typing import NamedTuple

from xkg.agents.ablation.candidates import Kind, Place, Replacement
from xkg.agents.ablation.space.forms import Forms
from xkg.agents.ablation.space.probes import VALUE
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.value import Value

_LONGEST = 60  # the maximum number of characters of code in a name


class Change(Value):
    """One way to change a site or a switch; `probe` has the same meaning as in a candidate."""

    kind: Kind
    value: str
    replacements: tuple[Replacement, ...]
    probe: tuple[Replacement, ...] = ()


class Site(Value):
    """Code that can be ablated. `text` is the code, `what` describes it, and `names` are the names that it reads.
    `objective` means a term in a sum that is named as a loss. `alone` means that it is worth trying even if no setting
    names it. `step` is the callee or object; all its calls are one step of a method and are left out together."""

    what: str
    text: str
    place: Place
    changes: tuple[Change, ...]
    names: tuple[str, ...]
    objective: bool = False
    alone: bool = True
    step: str = ""


class Around(NamedTuple):
    """The statements in a block and in the innermost loop around it (empty outside loops). `formula` means that the
    function changes its argument element by element."""

    block: Sequence[ast.stmt]
    loop: Sequence[ast.stmt]
    objective: bool
    beside: Set[str]
    forms: Forms
    formula: bool


def of_one(source: PythonSource, node: ast.expr, *values: tuple[Kind, str, str]) -> tuple[Change, ...]:
    """Changes to one expression, each given by its kind, the value in words, and the new code."""
    probe = (source.replaced(node, VALUE),)
    return tuple(
        Change(kind=kind, value=value, replacements=(source.replaced(node, new),), probe=probe)
        for kind, value, new in values
    )


def lines_at(source: PythonSource, term: ast.expr, statement: ast.stmt) -> Place:
    return source.place(term if term.lineno >= statement.lineno else statement)


def short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
