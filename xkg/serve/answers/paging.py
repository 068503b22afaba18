"""Where a list goes on. A cursor holds all there is to know: no session is kept, and any process goes on from it.

It is bound to its question, and to what was shown before: either by a digest of it, where the list has an order of its
own, or by the rows themselves, where what comes next is what was not shown yet, whatever came to the graph since.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from xkg.errors import InputError

MOST_SHOWN = 300
"""Rows of a search that a cursor remembers; who read them all does better to ask in other words."""

MOST_CHARACTERS = 4000
"""No cursor is longer."""

_VERSION = b"\x01"
_QUESTION, _PLACE, _ROW, _CHECK = 6, 8, 5, 3
_UNKNOWN = "the cursor is none that this tool gave: copy it as it was, or ask without it"


class Page:
    """The part of a list that `cursor` asks for, of what `tool` answers to `asked`; the first one for None. Raises
    `InputError` for a cursor that is none, or another question's."""

    def __init__(self, cursor: str | None, tool: str, *asked: Any) -> None:
        self._question = _digest([tool, *asked], _QUESTION)
        self._before = b"" if cursor is None else _read(cursor, self._question)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Page) and (self._question, self._before) == (other._question, other._before)

    def __hash__(self) -> int:
        return hash((self._question, self._before))

    def start(self, keys: Sequence[str]) -> int:
        """How many of a list come before the page; `keys` tell its rows apart. Raises `InputError` where the cursor
        was given for another list."""
        if not self._before:
            return 0
        offset = int.from_bytes(self._before[_PLACE:], "big")
        if len(self._before) != _PLACE + 4 or offset > len(keys) or _digest(keys[:offset], _PLACE) != self._place:
            raise InputError("the list is another one since the cursor was given: ask again without it")
        return offset

    def after(self, keys: Sequence[str]) -> str:
        """The cursor behind the rows with these keys, the first of a list."""
        return self._written(_digest(keys, _PLACE) + len(keys).to_bytes(4, "big"))

    @property
    def reached(self) -> int:
        """How many rows of a list, whose digest the cursor holds, come before the page."""
        return int.from_bytes(self._before[_PLACE : _PLACE + 4], "big")

    @property
    def shown(self) -> int:
        """How many rows were shown, which the cursor remembers."""
        return len(self._before) // _ROW

    def unseen(self, keys: Sequence[str]) -> list[int]:
        """The places in a list of the rows that were not shown yet."""
        seen = {self._before[at : at + _ROW] for at in range(0, len(self._before), _ROW)}
        return [place for place, key in enumerate(keys) if _digest(key, _ROW) not in seen]

    def beyond(self, keys: Sequence[str]) -> str | None:
        """The cursor that remembers these rows with those shown before; None where they are too many."""
        if self.shown + len(keys) > MOST_SHOWN:
            return None
        return self._written(self._before + b"".join(_digest(key, _ROW) for key in keys))

    @property
    def _place(self) -> bytes:
        return self._before[:_PLACE]

    def _written(self, before: bytes) -> str:
        body = _VERSION + self._question + before
        return base64.urlsafe_b64encode(body + _digest(body.hex(), _CHECK)).rstrip(b"=").decode()


def _read(cursor: str, question: bytes) -> bytes:
    try:
        packed = base64.b64decode(cursor.strip() + "=" * (-len(cursor.strip()) % 4), b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise InputError(_UNKNOWN) from None
    body, check = packed[:-_CHECK], packed[-_CHECK:]
    if len(body) < len(_VERSION) + _QUESTION or body[:1] != _VERSION or _digest(body.hex(), _CHECK) != check:
        raise InputError(_UNKNOWN)
    if body[1 : 1 + _QUESTION] != question:
        raise InputError("the cursor belongs to another question: repeat all that was asked for it, or ask without it")
    return body[1 + _QUESTION :]


def _digest(value: Any, length: int) -> bytes:
    said = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(said.encode()).digest()[:length]
