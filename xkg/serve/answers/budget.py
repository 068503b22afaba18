"""Fits answers into a token budget: shortens ids and long fields, with notes on where to find the full text."""

import functools
import json
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from xkg.llm.prices import tokens
from xkg.serve.answers.json import structured
from xkg.serve.answers.types import PROSE, SOURCE, UNCUT, CypherAnswer, LocateAnswer, Relative
from xkg.value import Value, fields_of

Detail = Literal["concise", "full"]

TOKENS: dict[Detail, int] = {"concise": 800, "full": 8000}
"""Token budget for an answer. One token is about four characters."""

LONGEST_ID = 1000
"""Maximum length of an id that a tool accepts. Longer text may be cut, whatever its field."""

_LONGEST_WORD = 400

Kind = Literal["prose", "lists", "codes", "rows", "lines"]
Limits = Mapping[Kind, int]
"""The maximum number of characters per text, items per list, code nodes, rows, and lines of code."""

_LEAST: Limits = {"prose": 80, "lists": 0, "codes": 0, "rows": 1, "lines": 0}
"""Maps each kind of content to the minimum amount to keep, in the order in which content is cut."""

_LEAST_OF_ROWS: Limits = {"prose": 80, "rows": 1, "lists": 0, "codes": 0, "lines": 0}
"""Like `_LEAST`, but for places and query rows. Rows are cut before lists, because the cursor can return the remaining
rows."""

_STEP = 1.12
"""Ratio of consecutive limits to try."""

_LOSSES: Mapping[Kind, str] = {
    "prose": "texts after {} characters",
    "lists": "lists after {} items",
    "codes": "the code of all techniques except {}",
    "lines": "the code after line {}",
}

A = TypeVar("A", bound=Value)


def size(answer: Value) -> int:
    """Returns the number of tokens in an answer's structured content. The text form is shorter."""
    return tokens(json.dumps(structured(answer), ensure_ascii=False))


def fitted(
    answer: A,
    detail: Detail,
    *,
    more: Callable[[int], str | None] | None = None,
    whole: str | None = None,
    most: int | None = None,
) -> A:
    """Returns the answer, cut to the budget for `detail`, or to `most` tokens.

    Content is cut in this order: long texts (all to the same length), lists, rows of the paged list, and finally code
    (at line breaks). `more(n)` returns the cursor after the first n rows, or None if no rows follow. `whole` is the
    address of the complete answer. A full answer includes the address if anything was cut."""
    most = most or TOKENS[detail]
    order = _LEAST_OF_ROWS if isinstance(answer, CypherAnswer | LocateAnswer) else _LEAST
    if size(shown := _pointing(answer, detail, more, whole, {})) <= most:
        return shown
    answer = _cut(answer, dict.fromkeys(order, 4 * most), {})  # longer values never fit and would only slow things down
    cut_to = functools.partial(_pointing, answer, detail, more, whole)
    tries = _tries(tuple(order.items()), 4 * most)
    first = bisect_left(tries, True, key=lambda limits: size(cut_to(limits)) <= most)
    return cut_to(tries[min(first, len(tries) - 1)])


@functools.cache
def _tries(order: Sequence[tuple[Kind, int]], most: int) -> Sequence[Limits]:
    """Returns increasingly strict limits, which reduce one kind of content after another to its minimum."""
    tries: list[Limits] = []
    limits: dict[Kind, int] = {}
    for kind, least in order:
        limit = most
        while limit > least:
            tries.append({**limits, kind: limit})
            limit = max(least, min(limit - 1, int(limit / _STEP)))
        limits[kind] = least
        tries.append(dict(limits))
    return tries


def _pointing(
    answer: A, detail: Detail, more: Callable[[int], str | None] | None, whole: str | None, limits: Limits
) -> A:
    """Returns the answer cut to the limits, with notes on what was cut and where to find the omitted parts."""
    cut = dict.fromkeys(limits, False)
    shown: A = _cut(answer, limits, cut) if limits else answer
    paged = getattr(type(answer), "paged", "")
    rows, left = len(getattr(answer, paged, ())), len(getattr(shown, paged, ()))
    update: dict[str, Any] = {"cursor": more(left)} if more is not None else {}
    notes = [answer.cut] if getattr(answer, "cut", "") else []  # type: ignore[attr-defined]
    lost = [kind for kind in limits if cut[kind]]
    if losses := ", ".join(_LOSSES[kind].format(limits[kind]) for kind in lost if kind in _LOSSES):
        if whole is not None and (detail == "full" or "lines" in lost):
            update["uri"] = whole
            losses += ": read its uri"
        elif detail == "concise":
            losses += ": call again with detail='full'"
        notes.append(losses)
    if left < rows:
        notes.append(f"{rows - left} of {rows} rows" + (": pass the cursor" if update.get("cursor") else ""))
    if "cut" in type(answer).model_fields:
        update["cut"] = "; ".join(notes)
    return shown.model_copy(update=update)


def _cut(value: Any, limits: Limits, cut: dict[Kind, bool], name: str = "answer") -> Any:
    """Returns the value cut to the limits. Sets `cut[kind]` for each kind that was shortened."""
    if isinstance(value, BaseModel):
        held = value.__dict__
        changed = {
            key: now
            for key, of in _fields(type(value))
            if held[key] and (now := _cut(held[key], limits, cut, of)) is not held[key]
        }
        return value.model_copy(update=changed) if changed else value
    if isinstance(value, dict):
        return {key: _cut(item, limits, cut, name) for key, item in value.items()}
    kind = _kind(value, name)
    limit = limits.get(kind) if kind is not None else None
    if isinstance(value, tuple | list):
        cut_off = limit is not None and len(value) > limit
        of = {"paged": "row", "row": "cell"}.get(name, name)
        items = [_cut(item, limits, cut, of) for item in value[:limit]]
        if not cut_off and all(map(lambda new, old: new is old, items, value)):
            return value
        value = type(value)(items)
    elif limit is not None and kind == "lines":
        lines = value.splitlines(keepends=True)
        cut_off, value = len(lines) > limit, "".join(lines[:limit])
    elif limit is not None and len(value) > limit:
        cut_off, value = True, value[: limit - 1].rstrip() + "…"
    else:
        return value
    if cut_off and kind is not None:
        cut[kind] = True
    return value


def _kind(value: Any, name: str) -> Kind | None:
    match value:
        case str() if name in SOURCE:
            return "lines"
        case str() if len(value) > LONGEST_ID or (name in PROSE and not _is_word(value, name)):
            return "prose"
        case tuple() if name == "implementations":
            return "codes"
        case tuple() if name == "paged":
            return "rows"
        case tuple() | list() if name not in UNCUT:
            return "lists"
        case _:
            return None


def _is_word(value: str, name: str) -> bool:
    """Returns whether a cell is a single word, such as an id, URL or path, which would be useless if cut."""
    return name == "cell" and len(value) <= _LONGEST_WORD and len(value.split(None, 1)) == 1


@functools.cache
def _fields(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    paged = getattr(model, "paged", "")
    return tuple((name, "paged" if name == paged else name) for name, _ in fields_of(model))


ShortIds = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns short ids for techniques or papers (`xkg.serve.answers.references`)."""

_FIELDS = frozenset(("id", "code", "parent", "technique", "component_ids", "own", "other", "paper"))
"""Fields that contain ids."""

_WITHOUT_IDS = frozenset((str, float, int, bool, type(None)))
"""Values of these types are ids only in the fields listed in `_FIELDS`."""


def concise(answer: A, short_ids: ShortIds, short_papers: ShortIds | None = None) -> A:
    """Returns the answer with short ids for all techniques and code. The answer's own id stays unchanged. Relatives are
    reduced to an id and a relation. A code id is shortened to `@` and its digest. `short_papers`, if given, also
    shortens paper ids."""
    return _replaced(answer, _short(answer, short_ids, short_papers), brief=True)


def readable(answer: A, short_ids: ShortIds, short_papers: ShortIds) -> A:
    """Returns the answer for a person, with short ids for all papers, techniques and code. The answer's own id stays
    unchanged."""
    return _replaced(answer, _short(answer, short_ids, short_papers), brief=False)


def _short(answer: Value, short_ids: ShortIds, short_papers: ShortIds | None) -> Callable[[str], str]:
    nodes: dict[str, str] = {}
    _replaced(answer, lambda node: nodes.setdefault(node, node), brief=False)
    papers = [node for node in nodes if node.startswith("title:") and "#" not in node] if short_papers else []
    within = [node for node in nodes if "#" in node]
    short = short_ids(list(dict.fromkeys(map(_technique, within)))) if within else {}
    nodes |= {node: short[_technique(node)] + node[len(_technique(node)) :] for node in within}
    nodes |= short_papers(papers) if short_papers and papers else {}
    return nodes.__getitem__


def _replaced(answer: A, short: Callable[[str], str], *, brief: bool) -> A:
    def replaced(value: Any, name: str) -> Any:
        match value:
            case str() if brief and name == "code" and "#" in value:
                return value[value.rfind("@") :]
            case str():
                return short(value) if name in _FIELDS else value
            case Relative() if brief:
                return Relative(id=short(value.id), relation=value.relation)
            case BaseModel():
                return value.model_copy(update=inside(value))
            case tuple():
                return tuple([replaced(item, name) for item in value]) if value else value
            case _:
                return value

    def inside(value: BaseModel) -> dict[str, Any]:
        fields = value.__dict__.items()
        return {
            name: replaced(item, name) for name, item in fields if name in _FIELDS or type(item) not in _WITHOUT_IDS
        }

    return answer.model_copy(update={name: value for name, value in inside(answer).items() if name != "id"})


def _technique(node: str) -> str:
    return node[: node.rfind("@")] if "@" in node.rpartition("/")[2] else node
