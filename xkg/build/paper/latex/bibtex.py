"""Reads BibTeX files entry by entry. Skips broken entries."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_ENTRY = re.compile(r"@[ \t]*+([a-zA-Z]+)\s*+([{(])")
_KEY = re.compile(r"\s*+([^\s,{}()=\"#%']{1,200})\s*+,")
_NAME = re.compile(r"[\s,]*+([a-zA-Z][\w\-:.]{0,60})\s*+=\s*+")
_PIECE = re.compile(r"\s*+(?:(\d+)|([a-zA-Z][\w\-:.]*)|(?=([{\"])))")
_JOIN = re.compile(r"\s*+#")
_MONTHS = {m: m for m in ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]}


@dataclass(frozen=True, slots=True)
class Entry:
    """A BibTeX entry. `fields` maps lower-case field names to TeX."""

    kind: str
    key: str
    fields: Mapping[str, str] = field(default_factory=dict)


def entries(text: str) -> list[Entry]:
    """Returns all entries in order. Replaces `@string` abbreviations and omits `@comment` and `@preamble`."""
    entries: list[Entry] = []
    strings = dict(_MONTHS)
    at = 0
    while match := _ENTRY.search(text, at):
        kind, at = match[1].lower(), match.end()
        if kind in ("comment", "preamble"):
            continue
        if kind == "string":
            fields, at = _fields(text, at, strings)
            strings |= {name: value[:_LONGEST_STRING] for name, value in fields.items()}
            continue
        key = _KEY.match(text, at)
        if key is None:
            continue
        fields, at = _fields(text, key.end(), strings)
        entries.append(Entry(kind, key[1], fields))
    return entries


def _fields(text: str, at: int, strings: Mapping[str, str]) -> tuple[dict[str, str], int]:
    fields: dict[str, str] = {}
    while name := _NAME.match(text, at):
        value, after = _value(text, name.end(), strings)
        if value is None:
            return fields, name.end()
        fields.setdefault(name[1].lower(), " ".join(value.split()))
        at = after
    return fields, at


def _value(text: str, at: int, strings: Mapping[str, str]) -> tuple[str | None, int]:
    parts: list[str] = []
    while piece := _PIECE.match(text, at):
        if piece[3]:
            close = _close(text, piece.end(), piece[3])
            if close is None:
                return None, at
            parts.append(text[piece.end() + 1 : close])
            at = close + 1
        else:
            if len(parts) < _MOST_PARTS:
                parts.append(piece[1] or strings.get(piece[2].lower(), piece[2]))
            at = piece.end()
        joined = _JOIN.match(text, at)
        if joined is None:
            return "".join(parts), at
        at = joined.end()
    return ("".join(parts), at) if parts else (None, at)


_LONGEST_VALUE = 20_000
# Abbreviations can refer to one another, so a few lines could expand to more text than memory can hold.
_LONGEST_STRING, _MOST_PARTS = 1_000, 20
_CLOSE = re.compile(r"\\.|[{}\"]", re.DOTALL)


def _close(text: str, start: int, kind: str) -> int | None:
    depth = 0
    for match in _CLOSE.finditer(text, start + 1, start + _LONGEST_VALUE):
        token = match.group()
        if token == "{":
            depth += 1
        elif token == "}":
            if kind == "{" and depth == 0:
                return match.start()
            depth -= 1
        elif token == '"' and kind == '"' and depth == 0:
            return match.start()
    return None
