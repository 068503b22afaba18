"""Separates a draft's module from the code of its components. Adds the components that the module calls after a
repair."""

import ast
import re
from collections.abc import Sequence

from xkg.build.code.languages.python import parse_ast
from xkg.build.guided.draft import Draft
from xkg.build.slicing.compose import Composed, Part, compose, interfaces, rendered
from xkg.sandbox.evidence.own_statements import own_lines

_HEADING = re.compile(r"^# --- (?:component: .*|new)\n", re.MULTILINE)
_EMPTY = re.compile(r"^# --- component: .*\n\s*+(?=# --- )", re.MULTILINE)
_EMPTY_SECTION = re.compile(r"^# --- new\n\s*+(?=# --- component: )", re.MULTILINE)


def own_module(draft: Draft) -> str:
    """Returns the module without the code of its proven components. Lines that the module has changed remain."""
    return _EMPTY.sub("", _without(draft.implementation, [c.implementation for c in draft.components if c.proven]))


def editable_module(draft: Draft) -> str:
    """Returns the module that a model may edit. Proven components appear only as signatures, in comments."""
    proven = [component.part for component in draft.components if component.proven]
    heads = "".join(f"# {line}\n" for line in interfaces(proven).splitlines() if line)
    return f"# These parts are proven and not shown:\n{heads}\n{own_module(draft)}" if heads else draft.implementation


def own_code(draft: Draft) -> str:
    """Returns the module without the code of its components, as the model wrote it."""
    return _HEADING.sub("", _without(draft.implementation, [c.implementation for c in draft.components]))


def _without(module: str, components: Sequence[str]) -> str:
    own = own_lines(module, components)
    text = "\n".join(line for n, line in enumerate(module.split("\n"), start=1) if n in own)
    return re.sub(r"\n{4,}", "\n\n\n", text)


def callable_components(draft: Draft) -> str:
    """Returns the code or signatures of the components that a draft could call but does not. Returns '' if there are
    none."""
    return rendered([each.part for each in draft.ready]) if draft.ready else ""


def with_called_components(draft: Draft) -> Draft:
    """Adds the definitions of components that a draft's module calls but does not contain. Returns the draft unchanged
    if no definitions are missing or the definitions cannot be combined."""
    parts = (*draft.components, *draft.ready)
    composed = compose(draft.implementation, [each.part for each in parts])
    if composed.problem or not composed.used:
        return draft
    names = {parts[i].name for i in composed.used}
    called = [component for component in draft.ready if component.name in names]
    return draft.model_copy(
        update={
            "implementation": _EMPTY_SECTION.sub("", composed.source),
            "components": (*draft.components, *called),
            "ready": tuple(c for c in draft.ready if c.name not in names),
            "uncalled": tuple(name for name in draft.uncalled if name not in names),
            "sources": tuple(dict.fromkeys([*draft.sources, *(s for c in called for s in c.sources)])),
        }
    )


def uncalled(composed: Composed, parts: Sequence[Part]) -> list[int]:
    """Returns the indices of the parts that contribute no public definition to a composed module. If two parts share a
    definition, it counts for both parts."""
    return [i for i, part in enumerate(parts) if i not in composed.used and not _shares(part.source, composed.source)]


def _shares(component: str, module: str) -> bool:
    tree = parse_ast(component)
    own = own_lines(component, [module])
    definitions = [] if tree is None else [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return any(not node.name.startswith("_") and node.lineno not in own for node in definitions)
