"""Selects the components that a task specifies."""

from collections.abc import Sequence

from xkg.agents.ablation.candidates import Space
from xkg.errors import InputError


def only(space: Space, names: Sequence[str]) -> Space:
    """Restricts a space to components whose name contains one of these names. Raises `InputError` if no component
    matches."""
    wanted = [name.casefold() for name in names]
    components = tuple(
        c for c in space.components if any(w in c.name.casefold() or w == c.id.casefold() for w in wanted)
    )
    ids = {c.id for c in components}
    if not ids:
        raise InputError(f"no component matches {', '.join(names)}; a run without --only reports all components")
    return space.model_copy(
        update={"components": components, "candidates": tuple(c for c in space.candidates if c.component in ids)}
    )
