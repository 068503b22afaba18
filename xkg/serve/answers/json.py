"""Answers as structured content: the fields without empty ones and without invisible characters."""

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from pydantic import BaseModel

from xkg.serve.answers.quoting import encodable, hidden_in, visible
from xkg.serve.answers.types import SOURCE
from xkg.value import Value


def structured(answer: Value) -> dict[str, Any]:
    """The fields as JSON values, without empty optional ones.

    Prose loses invisible characters (`visible`); code stays as it is stored, since it is to run, and `notice` names the
    invisible characters in it."""
    hidden: set[str] = set()
    fields: dict[str, Any] = _plain(answer, False, hidden)
    if hidden and "notice" in fields:
        names = ", ".join(sorted(hidden))
        fields["notice"] += f" The code holds characters that no reader sees: {names}."
    return fields


def as_json(answer: Value) -> str:
    """`structured`, written out."""
    return json.dumps(structured(answer), ensure_ascii=False, indent=1)


def _plain(value: Any, source: bool, hidden: set[str]) -> Any:
    if type(value) is str:  # most are
        if source:
            hidden.update(hidden_in(value))
        return encodable(value) if source else visible(value)
    match value:
        case BaseModel():
            fields = type(value).model_fields
            named = {name: getattr(value, name) for name in fields}
            return {
                name: _plain(item, name in SOURCE, hidden)
                for name, item in named.items()
                if fields[name].is_required() or item or item == 0
            }
        case Mapping():
            return {visible(str(key)): _plain(item, False, hidden) for key, item in value.items()}
        case tuple() | list():
            return [_plain(item, source, hidden) for item in value]
        case Enum():
            return value.value
        case str():
            return _plain(str(value), source, hidden)
        case _:
            return value
