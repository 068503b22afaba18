"""The base of most values: frozen, without unknown fields."""

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
