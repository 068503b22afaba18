"""Updates the author's statements about a module after a repair that the author did not see."""

import re
from collections.abc import Mapping, Sequence

from xkg.build.code.languages.python import parse_ast
from xkg.build.guided.draft import Draft
from xkg.build.guided.repair_guard.names import public_names

_NAME = re.compile(r"[^\W\d]\w*")
_BEFORE = "(said before the module was repaired)"


def after_repair(draft: Draft, implementation: str) -> tuple[Sequence[str], Mapping[str, tuple[int, ...]]]:
    """`declared` and `by_definition` of a draft, updated for its repaired module. Each declared entry says that it may
    be outdated, and names the functions and classes that the module no longer has; these are removed from
    `by_definition`."""
    before, after = parse_ast(draft.implementation), parse_ast(implementation)
    gone = public_names(before) - public_names(after) if before is not None and after is not None else set()
    declared = []
    for entry in draft.declared:
        lost = [name for name in dict.fromkeys(_NAME.findall(entry)) if name in gone]
        marked = entry if _BEFORE in entry else f"{entry} {_BEFORE}"
        declared.append(f"{marked} (it has no {', '.join(lost)} any more)" if lost else marked)
    return declared, {name: numbers for name, numbers in draft.by_definition.items() if name not in gone}
