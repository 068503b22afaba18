"""Renders answers as structured content, without empty fields or invisible characters."""

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

from xkg.serve.answers.quoting import encodable, hidden_in, visible
from xkg.serve.answers.types import SOURCE
from xkg.value import Value, fields_of


def structured(answer: Value) -> dict[str, Any]:
    """Returns the fields as JSON values, without empty optional fields or file contents.

    Invisible characters are removed from prose (`visible`). Code must still run, so it is returned as stored, and
    `notice` lists any invisible characters in it."""
    hidden: set[str] = set()
    fields: dict[str, Any] = _plain(answer, False, hidden)
    if hidden and "notice" in fields:
        names = ", ".join(sorted(hidden))
        fields["notice"] += f" The code contains invisible characters: {names}."
    return fields


def as_json(answer: Value) -> str:
    """Returns `structured` content serialized as JSON."""
    return json.dumps(structured(answer), ensure_ascii=False, indent=1)


def _plain(value: Any, source: bool, hidden: set[str]) -> Any:
    if type(value) is str:  # the common case
        if source:
            hidden.update(hidden_in(value))
            return encodable(value)
        return visible(value)
    if isinstance(value, tuple | list):
        return [_plain(item, source, hidden) for item in value]
    if isinstance(value, BaseModel):
        held = value.__dict__
        return {
            name: _plain(item, name in SOURCE, hidden)
            for name, required in fields_of(type(value))
            if ((item := held[name]) or required or item == 0) and not isinstance(item, bytes)
        }
    match value:
        case Mapping():
            return {visible(str(key)): _plain(item, False, hidden) for key, item in value.items()}
        case Enum():
            return value.value
        case str():
            return _plain(str(value), source, hidden)
        case _:
            return value
