"""Describes code that can be ablated, and the code around it."""

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
    """One way to change a site or a switch. `probe` has the same meaning as in `Candidate`."""

    kind: Kind
    value: str
    replacements: tuple[Replacement, ...]
    probe: tuple[Replacement, ...] = ()


class Site(Value):
    """Code that can be ablated. `text` is the code, and `what` is a description of the code. `step` is the callee or
    object whose calls form one step of a method and are removed together."""

    what: str
    text: str
    place: Place
    changes: tuple[Change, ...]
    step: str = ""


class Around(NamedTuple):
    """The context of a statement. `loop` contains the innermost loop's statements (empty outside loops). `formula`
    means that the function computes a value element by element."""

    loop: Sequence[ast.stmt]
    beside: Set[str]
    forms: Forms
    formula: bool


def of_one(source: PythonSource, node: ast.expr, *values: tuple[Kind, str, str]) -> tuple[Change, ...]:
    """Returns changes to one expression, given as kind, readable value, and new code."""
    probe = (source.replaced(node, VALUE),)
    return tuple(
        Change(kind=kind, value=value, replacements=(source.replaced(node, new),), probe=probe)
        for kind, value, new in values
    )


def short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
