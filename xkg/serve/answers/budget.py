"""Fits answers into a token budget: long parts are cut evenly, and the answer says where to find the rest."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

from xkg.llm.prices import tokens
from xkg.serve.answers.json import structured
from xkg.serve.answers.truncation import Kind, Limits, Part, cut, part
from xkg.serve.answers.types import CypherAnswer, LocateAnswer
from xkg.value import Value

Detail = Literal["concise", "full"]

TOKENS: dict[Detail, int] = {"concise": 800, "full": 8000}
"""The budget of an answer. One token is about four characters."""

A = TypeVar("A", bound=Value)

_LEAST: dict[Kind, int] = {"prose": 80, "lists": 0, "codes": 0, "rows": 1, "lines": 0}
"""The parts to cut, in this order, with the minimum that is kept of each."""

_LEAST_OF_ROWS: dict[Kind, int] = {"prose": 80, "rows": 1, "lists": 0, "codes": 0, "lines": 0}
"""The same for places and the rows of a query. The user asked for the lines and for the lists in cells; the cursor
gives the remaining rows."""

_POINTERS = 160
"""Characters reserved for the notes on where the rest is."""

_TRIES = 5

_CERTAINLY_LONG = 1.25
"""An answer whose estimated parts exceed the budget by this factor is cut without being serialized first. The estimate
is a few characters too high for each part."""


def size(answer: Value) -> int:
    """Tokens of an answer as structured content. Its text is shorter."""
    return tokens(json.dumps(structured(answer), ensure_ascii=False))


def fitted(
    answer: A,
    detail: Detail,
    *,
    more: Callable[[int], str | None] | None = None,
    whole: str | None = None,
    most: int | None = None,
) -> A:
    """Return the answer within the budget of `detail`, or `most` tokens.

    Long texts are cut first, all to one length, then lists, then the rows of the paged list, and last code, between
    lines. `more(n)` is the cursor after the first n rows, None if no rows follow. `whole` is the address of the whole
    answer, which a full answer names if it was cut."""
    most = most or TOKENS[detail]
    parts = part(answer)
    if parts.takes(Limits()) <= _CERTAINLY_LONG * 4 * most:
        shortened = _pointing(answer, {}, detail, more, whole)
        if size(shortened) <= most:
            return shortened
    least = _LEAST_OF_ROWS if isinstance(answer, CypherAnswer | LocateAnswer) else _LEAST
    longest = parts.longest()
    room = 4 * most - _POINTERS
    for _ in range(_TRIES):
        limits = _limits(parts, least, longest, room)
        lost = {kind: limit for kind in least if (limit := limits.of(kind)) is not None and longest[kind] > limit}
        shortened = _pointing(answer, lost, detail, more, whole, cut(answer, limits))
        excess = size(shortened) - most
        if excess <= 0:
            break
        room -= 4 * excess
    return shortened


def _limits(parts: Part, leasts: dict[Kind, int], longest: dict[Kind, int], room: int) -> Limits:
    """The widest limits with which the parts fit into `room` characters. If cutting a later kind, such as code, frees
    enough space, the earlier kinds get it back."""
    limits = Limits()
    taken: list[Kind] = []
    for kind, least in leasts.items():
        if longest.get(kind, 0) <= least:
            continue
        taken.append(kind)
        limits = replace(limits, **{kind: least})
        if parts.takes(limits) <= room:
            break
    for kind in reversed(taken):
        takes = _prose_takes(parts) if taken == ["prose"] else partial(_takes, parts, limits, kind)
        limits = replace(limits, **{kind: _widest(takes, leasts[kind], longest[kind], room)})
    return limits


def _widest(takes: Callable[[int], int], least: int, longest: int, room: int) -> int | None:
    """The highest limit that fits, at least `least`. None if nothing needs to be cut."""
    if takes(longest) <= room:
        return None
    low, high = least, longest
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if takes(middle) <= room else (low, middle)
    return low


def _takes(parts: Part, limits: Limits, kind: Kind, limit: int) -> int:
    return parts.takes(replace(limits, **{kind: limit}))


def _prose_takes(parts: Part) -> Callable[[int], int]:
    """As `_takes`, for texts, which are cut first and alone. Only texts need to be measured, and they are not cut
    between lines."""
    sizes = [(text.length, text.characters) for text in parts.texts("prose")]
    rest = parts.takes(Limits()) - sum(characters for _, characters in sizes)
    return lambda limit: (
        rest + sum(characters if limit >= length else characters * limit // length for length, characters in sizes)
    )


_LOSSES: dict[Kind, str] = {
    "prose": "texts after {} characters",
    "lists": "lists after {} items",
    "codes": "the code of all techniques but {}",
    "lines": "the code after line {}",
}


def _pointing(
    answer: A,
    lost: dict[Kind, int],
    detail: Detail,
    more: Callable[[int], str | None] | None,
    whole: str | None,
    shorter: A | None = None,
) -> A:
    """The answer, or its `shorter` form, with notes on what was cut and where to find it."""
    rows = len(getattr(answer, getattr(type(answer), "paged", "") or "notice", ()))
    left = lost.get("rows", rows)
    update: dict[str, Any] = {"cursor": more(left)} if more is not None else {}
    notes = [answer.cut] if getattr(answer, "cut", "") else []  # type: ignore[attr-defined]
    if losses := ", ".join(_LOSSES[kind].format(limit) for kind, limit in lost.items() if kind in _LOSSES):
        if whole is not None and (detail == "full" or "lines" in lost):
            update["uri"] = whole
            losses += ": read its uri"
        elif detail == "concise":
            losses += ": ask with detail='full'"
        notes.append(losses)
    if left < rows:
        notes.append(f"{rows - left} of {rows} rows" + (": ask with the cursor" if update.get("cursor") else ""))
    if "cut" in type(answer).model_fields:
        update["cut"] = "; ".join(notes)
    return (shorter or answer).model_copy(update=update)
