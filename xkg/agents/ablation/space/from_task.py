"""The components that a task names."""

from collections.abc import Sequence

from xkg.agents.ablation.candidates import Space
from xkg.errors import InputError


def only(space: Space, names: Sequence[str]) -> Space:
    """The components whose name contains one of the names. Raises `InputError` if there is none."""
    wanted = [name.casefold() for name in names]
    components = tuple(
        c for c in space.components if any(w in c.name.casefold() or w == c.id.casefold() for w in wanted)
    )
    ids = {c.id for c in components}
    if not ids:
        raise InputError(f"no component is named {', '.join(names)}; the report of a run without --only lists them")
    return space.model_copy(
        update={"components": components, "candidates": tuple(c for c in space.candidates if c.component in ids)}
    )
