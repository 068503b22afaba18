"""Checks parameters and creates error messages for untrusted queries on both engines."""

import re
from collections.abc import Mapping
from typing import Any

from xkg.errors import QueryFailedError

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def checked_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Checks that both engines accept these parameters. Names must be words. A value must be null, a boolean, a number
    of at most 64 bits, a string, or a non-empty list. A list's values must be non-null scalars of the same type. Raises
    `QueryFailedError` for the first invalid parameter."""
    checked = {}
    for name, value in parameters.items():
        if not _NAME.fullmatch(name):
            raise QueryFailedError(f"parameter name {name!r} must consist of letters, digits and '_'; rename it")
        if not _can_pass(value):
            raise QueryFailedError(
                f"parameter ${name} must be null, a boolean, a number, a string, or a non-empty list of one of these"
            )
        checked[name] = value
    return checked


def _can_pass(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        kinds = {type(item) for item in value}
        return len(kinds) == 1 and not kinds & {list, tuple, type(None)} and all(_can_pass(item) for item in value)
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    if isinstance(value, str):
        return not any("\ud800" <= char <= "\udfff" for char in value)
    return value is None or isinstance(value, float)


def one_line(message: str) -> str:
    """Returns an engine's message on a single line, truncated to 500 characters."""
    return " ".join(message.split())[:500]


def failure(message: str, advice: str = "") -> QueryFailedError:
    """Returns an error with the engine's message and advice."""
    words = one_line(message)
    return QueryFailedError(f"the query failed: {words.removesuffix('.') if advice else words}{advice}")


def overran(seconds: float) -> QueryFailedError:
    """Returns the error for a query that timed out."""
    return QueryFailedError(f"the query ran longer than {seconds:g} s; narrow the query or add a LIMIT")
