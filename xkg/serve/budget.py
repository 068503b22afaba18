"""Answers within a budget of tokens: what is too long is cut, fairly, and the answer says where the rest is."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from xkg.llm_prices import tokens
from xkg.serve.answer_json import structured
from xkg.serve.answers import PROSE, SOURCE, UNCUT, Value

Detail = Literal["concise", "full"]

TOKENS: dict[Detail, int] = {"concise": 800, "full": 8000}
"""What an answer may take; about four characters are one token."""

SHORTEST = 120
"""Characters of a text that stay at least."""

FEWEST = 2
"""Items of a list that stay at least."""

A = TypeVar("A", bound=Value)


def size(answer: Value) -> int:
    """Tokens of an answer as structured content, than which its text is shorter."""
    return tokens(json.dumps(structured(answer), ensure_ascii=False))


def fitted(
    answer: A,
    detail: Detail,
    *,
    more: Callable[[int], str | None] | None = None,
    whole: str | None = None,
    most: int | None = None,
) -> A:
    """The answer within the budget of `detail`, or `most` tokens.

    Long texts end first, all at one length, then lists, then the rows of the list that goes on; code ends last, between
    lines. `more(n)` is the cursor behind the first n rows, None where nothing follows. `whole` is the address where all
    of it can be read: an answer that cannot say more when it is asked for in full names it."""
    most = most or TOKENS[detail]
    longest = dict.fromkeys(("prose", "lists", "codes", "rows", "lines"), 0)
    for kind, length in _lengths(answer):
        longest[kind] = max(longest[kind], length)

    def cut(limits: _Limits) -> A:
        lost = {kind: limit for kind, limit in vars(limits).items() if limit is not None and longest[kind] > limit}
        shorter: A = _cut(answer, limits, "answer")
        return _told(shorter, lost, longest["rows"], detail, more, whole)

    def fits(limits: _Limits) -> bool:
        return size(cut(limits)) <= most

    limits = _Limits()
    if fits(limits):
        return cut(limits)
    for kind, least in (("prose", SHORTEST), ("lists", FEWEST), ("codes", 0), ("rows", 1), ("lines", 0)):
        if longest[kind] > least:
            low, high = least, longest[kind]
            limits = replace(limits, **{kind: least})
            if fits(limits):
                while high - low > 1 + low // 20:
                    middle = (low + high) // 2
                    low, high = (middle, high) if fits(replace(limits, **{kind: middle})) else (low, middle)
                limits = replace(limits, **{kind: low})
                break
    return cut(limits)


@dataclass(frozen=True)
class _Limits:
    """Where each text ends, each list, the codes of an answer, its rows, and the lines of each code; None: nowhere."""

    prose: int | None = None
    lists: int | None = None
    codes: int | None = None
    rows: int | None = None
    lines: int | None = None


_SAID = {
    "prose": "texts after {} characters",
    "lists": "lists after {} items",
    "codes": "the code of all techniques but {}",
    "lines": "the code after line {}",
}


def _told(
    answer: A,
    lost: dict[str, int],
    rows: int,
    detail: Detail,
    more: Callable[[int], str | None] | None,
    whole: str | None,
) -> A:
    """The answer with what it lost, and with where that is."""
    update: dict[str, Any] = {"cursor": more(lost.get("rows", rows))} if more is not None else {}
    said = [answer.cut] if getattr(answer, "cut", "") else []  # type: ignore[attr-defined]
    if what := ", ".join(_SAID[kind].format(limit) for kind, limit in lost.items() if kind in _SAID):
        if whole is not None and (detail == "full" or "lines" in lost):
            update["uri"] = whole
            what += ": read its uri"
        elif detail == "concise":
            what += ": ask with detail='full'"
        said.append(what)
    if "rows" in lost:
        said.append(f"{rows - lost['rows']} of {rows} rows" + (": ask with the cursor" if update.get("cursor") else ""))
    return answer.model_copy(update={**update, "cut": "; ".join(said)})


def _kind(value: Any, field: str) -> str | None:
    """Which limit a value falls under."""
    match value:
        case tuple() if field == "implementations":
            return "codes"
        case tuple() if field == "paged":
            return "rows"
        case tuple() | list() if field not in UNCUT:
            return "lists"
        case str() if field in SOURCE:
            return "lines"
        case str() if field in PROSE:
            return "prose"
        case _:
            return None


def _inside(value: BaseModel) -> Iterator[tuple[str, str, Any]]:
    """The fields of a value: name, what it counts as, and what it holds."""
    paged = getattr(type(value), "paged", "")
    for name in type(value).model_fields:
        yield name, "paged" if name == paged else name, getattr(value, name)


def _lengths(value: Any, field: str = "answer") -> Iterator[tuple[str, int]]:
    """How long everything is that could be cut."""
    kind = _kind(value, field)
    if kind is not None:
        yield kind, len(value.splitlines()) if kind == "lines" else len(value)
    match value:
        case BaseModel():
            for _, counts_as, item in _inside(value):
                yield from _lengths(item, counts_as)
        case tuple() | list():
            for item in value:
                yield from _lengths(item, _of(field))
        case dict():
            for item in value.values():
                yield from _lengths(item, field)


def _cut(value: Any, limits: _Limits, field: str) -> Any:
    kind = _kind(value, field)
    limit = None if kind is None else getattr(limits, kind)
    match value:
        case BaseModel():
            return value.model_copy(update={name: _cut(item, limits, of) for name, of, item in _inside(value)})
        case tuple() | list():
            return type(value)(_cut(item, limits, _of(field)) for item in value[:limit])
        case dict():
            return {key: _cut(item, limits, field) for key, item in value.items()}
        case str() if limit is not None and kind == "lines":
            return "".join(value.splitlines(keepends=True)[:limit])
        case str() if limit is not None and len(value) > limit:
            return value[: limit - 1].rstrip() + "…"
        case _:
            return value


def _of(field: str) -> str:
    """What the items of a list count as: rows are taken apart, and of plain rows the cells are texts."""
    return {"paged": "row", "row": "cell", "cell": "description"}.get(field, field)
