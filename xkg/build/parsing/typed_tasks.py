"""Supports functions in the sandboxed process that take arguments and return answers as JSON."""

import json
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, TypeVar, cast, get_type_hints

from pydantic import TypeAdapter, validate_call
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from xkg.sandbox.guest.worker import Call

T = TypeVar("T")

Mark = Callable[[str], None]
"""Announces the file that a function will process next, or '' for the task as a whole."""


def named(function: Callable[..., object]) -> str:
    """Returns the name that identifies a function among all tasks."""
    return f"{function.__module__}.{function.__qualname__}"


def tasks(*functions: Callable[..., object]) -> Mapping[str, Callable[[Call], bytes]]:
    """Returns a table of functions for `ConfinedWorker`. Each function takes a `Mark`, followed by keyword
    arguments."""
    return {named(function): partial(_run, validate_call(function)) for function in functions}


def arguments(given: Mapping[str, object]) -> Any:
    """Returns a function's arguments as a JSON value."""
    return to_jsonable_python(given)


def answer_of(function: Callable[..., T], answer: bytes) -> T:
    """Decodes a function's return value. Raises `ValueError` if the bytes are not a valid value of the return type."""
    return cast(T, _returned(function).validate_json(answer))


def dumped(value: object) -> bytes:
    """Returns a value as JSON. Replaces lone surrogates, because JSON cannot encode them."""
    try:
        return to_json(value)
    except PydanticSerializationError:
        return json.dumps(_whole_characters(to_jsonable_python(value))).encode()


def _run(function: Callable[..., object], call: Call) -> bytes:
    return dumped(function(call.mark, **call.payload))


@cache
def _returned(function: Callable[..., object]) -> TypeAdapter[Any]:
    return TypeAdapter(get_type_hints(function)["return"])


def _whole_characters(value: Any) -> Any:
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, dict):
        return {_whole_characters(k): _whole_characters(v) for k, v in value.items()}
    return [_whole_characters(v) for v in value] if isinstance(value, (list, tuple)) else value
