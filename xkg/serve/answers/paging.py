"""Pages lists with cursors.

A cursor is self-contained, so any process can continue from it, without a session. A cursor is bound to its question
and the rows already returned. For a list with a stable order, the cursor contains a single digest of the returned rows.
For any other list, the cursor contains a short digest of each row, and the next page contains only unseen rows, even if
the graph has changed."""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from xkg.errors import InputError
from xkg.serve.answers.budget import Detail, ShortIds, concise, fitted
from xkg.serve.answers.types import MORE_ROWS, Listing
from xkg.value import Value

MOST_SEEN = 300
"""Maximum number of search rows recorded in a cursor."""

MOST_CHARACTERS = 4000
"""Maximum length of a cursor."""

L = TypeVar("L", bound=Listing)

_QUESTION, _PLACE, _ROW = 6, 8, 5


class Page:
    """A page of the list that `tool` returns for `question`. Without a `cursor`, this is the first page. Raises
    `InputError` if the cursor is invalid or belongs to a different question."""

    def __init__(self, cursor: str | None, tool: str, *question: Any) -> None:
        self._question = _digest([tool, *question], _QUESTION)
        self._before = b"" if cursor is None else _read(cursor, self._question)

    def start(self, keys: Sequence[str]) -> int:
        """Returns how many rows of a list with these row keys come before the page. Raises `InputError` if the list
        has changed since the cursor was issued."""
        if not self._before:
            return 0
        if (offset := self.reached) > len(keys) or self._before != _place(keys[:offset]):
            raise InputError("the list has changed since the cursor was issued; start again without a cursor")
        return offset

    def after(self, keys: Sequence[str]) -> str:
        """Returns the cursor that follows the rows with these keys."""
        return self._written(_place(keys))

    def more(self, keys: Sequence[str], *, further: bool = False) -> Callable[[int], str | None]:
        """Returns a function that maps n to the cursor after the page's first n rows, or to None if no rows follow.
        `keys` contains the keys for the whole list. `further` means that the graph has more rows than the list."""
        start = self.start(keys)
        return lambda n: self.after(keys[: start + n]) if start + n < len(keys) or further else None

    @property
    def reached(self) -> int:
        """Number of rows before the page, if the cursor contains a digest of the list."""
        return int.from_bytes(self._before[_PLACE : _PLACE + 4], "big")

    @property
    def seen(self) -> int:
        """Number of rows recorded in the cursor."""
        return len(self._before) // _ROW

    def unseen(self, keys: Sequence[str]) -> list[int]:
        """Returns the positions of the rows not recorded in the cursor."""
        seen = {self._before[at : at + _ROW] for at in range(0, len(self._before), _ROW)}
        return [place for place, key in enumerate(keys) if _digest(key, _ROW) not in seen]

    def beyond(self, keys: Sequence[str]) -> str | None:
        """Returns the cursor extended with these rows, or None if there are too many."""
        if self.seen + len(keys) > MOST_SEEN:
            return None
        return self._written(self._before + b"".join(_digest(key, _ROW) for key in keys))

    def _written(self, before: bytes) -> str:
        return base64.urlsafe_b64encode(self._question + before).rstrip(b"=").decode()


def on_page(
    answer: L,
    page: Page,
    detail: Detail,
    short_ids: ShortIds,
    *,
    short_papers: ShortIds | None = None,
    further: bool | None = None,
) -> L:
    """Returns as many of the page's rows as fit, with the cursor for the next page. `further` means that the graph has
    more rows than the answer. By default, `further` is derived from `cut`. Raises the same errors as `Page.start`."""
    rows = getattr(answer, answer.paged)
    keys = [_key(row) for row in rows]
    rest = answer.model_copy(update={answer.paged: rows[page.start(keys) :]})
    shown = concise(rest, short_ids, short_papers) if detail == "concise" else rest
    more = page.more(keys, further=MORE_ROWS in getattr(answer, "cut", "") if further is None else further)
    return fitted(shown, detail, more=more)


def _key(row: Any) -> str:
    if isinstance(row, Value):
        return str(getattr(row, "id", None) or row.model_dump_json())
    return json.dumps(row, default=str)


def _place(keys: Sequence[str]) -> bytes:
    return _digest(keys, _PLACE) + len(keys).to_bytes(4, "big")


def _read(cursor: str, question: bytes) -> bytes:
    given = cursor.strip()
    try:
        packed = base64.b64decode(given + "=" * (-len(given) % 4), b"-_", validate=True)
    except (ValueError, binascii.Error):
        packed = b""
    if packed[:_QUESTION] != question:
        raise InputError("the cursor does not belong to this query; copy it exactly, or start again without a cursor")
    return packed[_QUESTION:]


def _digest(value: Any, length: int) -> bytes:
    encoded = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(encoded.encode()).digest()[:length]
