"""Separates a draft's module from the code of its components."""

import re
from collections.abc import Sequence

from xkg.build.guided.draft import Draft
from xkg.build.slicing.compose import Part, interfaces
from xkg.sandbox.evidence.own_statements import own_lines

_HEADING = re.compile(r"^# --- (?:component: .*|new)\n", re.MULTILINE)
_EMPTY = re.compile(r"^# --- component: .*\n\s*+(?=# --- )", re.MULTILINE)


def own_module(draft: Draft) -> str:
    """Returns the module without the code for its proven components. Lines that differ from the components' code are
    kept."""
    return _EMPTY.sub("", _without(draft.implementation, [c.implementation for c in draft.components if c.proven]))


def editable_module(draft: Draft) -> str:
    """Returns the module as shown to the model for edits: proven components appear only as signatures, in comments."""
    parts = [Part(component.name, component.implementation) for component in draft.components if component.proven]
    heads = "".join(f"# {line}\n" for line in interfaces(parts).splitlines() if line)
    return f"# These parts are proven and not shown:\n{heads}\n{own_module(draft)}" if heads else draft.implementation


def own_code(draft: Draft) -> str:
    """Returns the module without the code of its components, as its author wrote it."""
    return _HEADING.sub("", _without(draft.implementation, [c.implementation for c in draft.components]))


def _without(module: str, components: Sequence[str]) -> str:
    own = own_lines(module, components)
    text = "\n".join(line for n, line in enumerate(module.split("\n"), start=1) if n in own)
    return re.sub(r"\n{4,}", "\n\n\n", text)
