"""Describes field types in words."""

import types
import typing
from pathlib import Path
from typing import Any, Literal, Union

from xkg.model import Level

_PLAIN = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    Path: "path",
    bytes: "text in base64",
    Any: "any value",
}


def type_in_words(annotation: Any, linked: bool = False) -> str:
    """Describes a type in words. If `linked` is set, types on this page link to their sections."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if annotation in (None, type(None)):
        return "null" if linked else "none"
    if annotation is Level:
        return ", ".join(f"`{level}`" for level in Level)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return type_in_words(arguments[0], linked)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(type_in_words(argument, linked) for argument in arguments)
    if origin in (tuple, list):
        return f"list of {type_in_words(arguments[0], linked)}"
    if origin is dict:
        return f"object of {type_in_words(arguments[1], linked)}"
    name = annotation.__name__
    return f"[{name}](#{name.lower()})" if linked else name
