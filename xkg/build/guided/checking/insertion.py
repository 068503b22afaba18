"""Inserts the code for components that a module calls after a repair."""

import re
from collections.abc import Iterable

from xkg.build.guided.draft import Draft, UsedComponent
from xkg.build.slicing.compose import Part, compose, rendered

_EMPTY_SECTION = re.compile(r"^# --- new\n\s*+(?=# --- component: )", re.MULTILINE)


def callable_components(draft: Draft) -> str:
    """Returns the code or signatures of the components that a draft could call but does not call, or '' if there are no
    such components."""
    return rendered(_parts(draft.ready)) if draft.ready else ""


def with_called_components(draft: Draft) -> Draft:
    """Adds the definitions of components that a draft's module calls but does not contain. Returns the draft unchanged
    if there are no such components, or if the definitions do not fit together."""
    parts = (*draft.components, *draft.ready)
    composed = compose(draft.implementation, _parts(parts))
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


def _parts(components: Iterable[UsedComponent]) -> list[Part]:
    return [Part(component.name, component.implementation) for component in components]
