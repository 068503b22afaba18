"""Cuts answers to limits on texts, lists, rows and code, and measures the rest."""

import functools
from dataclasses import dataclass, field
from itertools import accumulate
from json.encoder import encode_basestring
from typing import Any, Literal

from pydantic import BaseModel

from xkg.serve.answers.types import PROSE, SOURCE, UNCUT
from xkg.value import fields_of

Kind = Literal["prose", "lists", "codes", "rows", "lines"]

LONGEST_ID = 1000
"""The longest id that a tool accepts. A longer text may be cut in any field."""

_LONGEST_WORD = 400


@dataclass(frozen=True)
class Limits:
    """The maximum number of characters of a text, items of a list, codes, rows, and lines of code. None: no limit."""

    prose: int | None = None
    lists: int | None = None
    codes: int | None = None
    rows: int | None = None
    lines: int | None = None

    def of(self, kind: Kind | None) -> int | None:
        return None if kind is None else getattr(self, kind)


@dataclass(slots=True)
class Part:
    """A text or a list of an answer. `length` is in its own unit, `characters` is its size in JSON. `until` has the
    size up to each line, if it can be cut between lines. For an object, `inside` has the parts that can be cut or that
    contain such parts, and `characters` is the size of the rest."""

    kind: Kind | None
    length: int
    characters: int
    inside: "list[Part]" = field(default_factory=list)
    until: list[int] = field(default_factory=list)

    def takes(self, limits: Limits) -> int:
        """The approximate number of JSON characters that remain within `limits`."""
        limit = limits.of(self.kind)
        if self.inside:
            return self.characters + sum(part.takes(limits) for part in self.inside[:limit])
        if limit is None or limit >= self.length:
            return self.characters
        return self.until[limit] if self.until else self.characters * limit // self.length

    def texts(self, kind: Kind) -> list["Part"]:
        """The innermost parts of a kind."""
        return (
            [text for part in self.inside for text in part.texts(kind)] if self.inside else [self] * (self.kind == kind)
        )

    def longest(self) -> dict[Kind, int]:
        """The maximum length of each kind."""
        longest: dict[Kind, int] = {} if self.kind is None else {self.kind: self.length}
        for part in self.inside:
            for kind, length in part.longest().items():
                longest[kind] = max(length, longest.get(kind, 0))
        return longest


def part(value: Any, name: str = "answer") -> Part:
    """The sizes of a field's value and of its parts."""
    if type(value) is str and name not in SOURCE:  # the common case
        return Part("prose" if _is_prose(value, name) else None, len(value), _written(value))
    kind = _kind(value, name)
    match value:
        case BaseModel():
            whole = Part(kind, 0, 2)
            held = value.__dict__
            for key, counts_as, required in _fields(type(value)):
                item = held[key]
                if type(item) is str and not _is_cuttable(item, counts_as):
                    if item or required:
                        whole.characters += _written(item) + _separated(key)
                elif item or required or item == 0:
                    whole.inside.append(_named(part(item, counts_as), key))
            return whole
        case tuple() | list():
            of = _of(name)
            inside = [_named(part(item, of), "") for item in value]
            return Part(kind, len(inside), 4, inside)
        case dict():
            return Part(kind, 0, 4, [_named(part(item, name), str(key)) for key, item in value.items()])
        case str() if kind == "lines":
            lines = value.splitlines(keepends=True)
            return Part(kind, len(lines), _written(value), until=[0, *accumulate(map(_written, lines))])
        case str():
            return Part(kind, len(value), _written(value))
        case bytes():  # the serialized answer has no such field (`structured`)
            return Part(kind, 0, 0)
        case _:
            return Part(kind, 0, len(str(value)))


def cut(value: Any, limits: Limits, name: str = "answer") -> Any:
    """The value, cut to the limits."""
    if type(value) is str and name not in SOURCE:  # the common case
        most = limits.prose
        if most is None or len(value) <= most or not _is_prose(value, name):
            return value
        return value[: most - 1].rstrip() + "…"
    kind = _kind(value, name)
    limit = limits.of(kind)
    match value:
        case BaseModel():
            held = value.__dict__
            changed = {
                key: now
                for key, of, _ in _fields(type(value))
                if (type(item := held[key]) is not str or _is_cuttable(item, of))
                and (now := cut(item, limits, of)) is not item
            }
            return value.model_copy(update=changed) if changed else value
        case tuple() | list():
            of = _of(name)
            return type(value)([cut(item, limits, of) for item in value[:limit]])
        case dict():
            return {key: cut(item, limits, name) for key, item in value.items()}
        case str() if limit is not None and kind == "lines":
            return "".join(value.splitlines(keepends=True)[:limit])
        case str() if limit is not None and len(value) > limit:
            return value[: limit - 1].rstrip() + "…"
        case _:
            return value


def _is_cuttable(value: str, name: str) -> bool:
    return name in PROSE or name in SOURCE or len(value) > LONGEST_ID


def _is_prose(value: str, name: str) -> bool:
    return len(value) > LONGEST_ID or (name in PROSE and not _is_word(value, name))


def _is_word(value: str, name: str) -> bool:
    """Whether a cell is one word, such as an id, a URL or a path, which is useless if cut."""
    return name == "cell" and len(value) <= _LONGEST_WORD and len(value.split(None, 1)) == 1


def _kind(value: Any, name: str) -> Kind | None:
    match value:
        case tuple() if name == "implementations":
            return "codes"
        case tuple() if name == "paged":
            return "rows"
        case tuple() | list() if name not in UNCUT:
            return "lists"
        case str() if name in SOURCE:
            return "lines"
        case str() if _is_prose(value, name):
            return "prose"
        case _:
            return None


@functools.cache
def _fields(model: type[BaseModel]) -> tuple[tuple[str, str, bool], ...]:
    """The fields of a model: name, the name that selects the limit, and whether it is required."""
    paged = getattr(model, "paged", "")
    return tuple((name, "paged" if name == paged else name, required) for name, required in fields_of(model))


def _of(name: str) -> str:
    """The name that selects the limit for the items of a list: the cells of plain rows are texts."""
    return {"paged": "row", "row": "cell"}.get(name, name)


def _named(inside: Part, key: str) -> Part:
    """Adds the characters of separators and of the key."""
    separated = _separated(key)
    inside.characters += separated
    if inside.until:
        inside.until = [characters + separated for characters in inside.until]
    return inside


def _separated(key: str) -> int:
    return len(key) + 6 if key else 2


def _written(text: str) -> int:
    return len(encode_basestring(text))
