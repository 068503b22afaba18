"""The base class for most values, which are frozen and reject unknown fields."""

import functools

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


@functools.cache
def fields_of(model: type[BaseModel]) -> tuple[tuple[str, bool], ...]:
    """Returns each field's name and whether it is required. The result is cached, since pydantic recomputes the fields
    each time."""
    return tuple((name, field.is_required()) for name, field in model.model_fields.items())
