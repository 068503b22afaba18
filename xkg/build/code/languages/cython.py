"""Rewrites Cython in Python syntax so that the Python grammar can parse it. Every byte keeps its position: types,
pointers, casts and anything after a C function's arguments become spaces (https://cython.readthedocs.io)."""

import re
from collections.abc import Iterator

SUFFIXES = frozenset(("pyx", "pxd", "pxi"))

_LONGEST, _LONGEST_PARAMETER = 4000, 300  # maximum bytes in a function's arguments, and in a single argument
_BLOCK = re.compile(rb"(?m)^([ \t]*)(?:cdef|cpdef|ctypedef)\b[ \t]*(?:(?:public|api|packed|extern|inline)[ \t]+)*")
_HEAD = re.compile(
    rb"(?P<class>(?:class|struct|enum|union|cppclass|fused)\b[ \t]*)(?=\w|:)|(?P<from>from[^\n:]*|[ \t]*)(?=:)"
)
_FUNCTION = re.compile(rb"(?:[\w.*&,<> \t]|\[[^\[\]\n]*\]){0,200}?\b(?=(?:\w+|operator\S{1,3})[ \t]*\()")
_DEF = re.compile(rb"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*(?=\()")
_VALUE = re.compile(rb"(?:[\w.*&,<> \t]|\[[^\[\]\n]*\]){0,200}?[ \t*&\]](?=\w+[ \t]*=[^=])")
_PARAMETER = re.compile(
    rb"\s*+(?P<type>(?:[\w.]|\[[^\[\]]{0,99}\]|[ \t]++(?=[\w*&]))+(?:[ \t]+[*&]*|[*&]+[ \t]*|(?<=\])[ \t]*))"
    rb"(?=\w+\s*(?:=|$|not\b|or\b))"
)
_NONE = re.compile(rb"\b(?:not|or)[ \t]+None\b")
_TAIL = re.compile(
    rb"[ \t]*(?P<tail>(?:noexcept|except|nogil|with|\bgil|->)[^\n#]{0,200}?)?(?=:[ \t]*(?:#|$|\w|\.))", re.MULTILINE
)
_CAST = re.compile(
    rb"(?<=[=(,+\-*/%\[:n])[ \t]*(?P<cast><[ \t]*[A-Za-z_][\w.]*+(?:[*&?]|\[[^\]\n]{0,40}\]|[ \t])*>)"
    rb"(?=[ \t]*[\w&(\[\"'])"
)
_ADDRESS = re.compile(rb"(?<=[(,=])[ \t]*(&)(?=[A-Za-z_])")
_IMPORT = re.compile(rb"\bcimport\b")


def as_python(source: bytes) -> bytes:
    """Returns the rewritten source. Unknown constructs are left unchanged; the grammar recovers from them."""
    text = bytearray(_IMPORT.sub(b"import ", source))
    for match in _BLOCK.finditer(source):
        _declare(text, match.end(1), match.end())
    for match in _DEF.finditer(bytes(text)):
        _clear_arguments(text, match.end())
    for pattern in (_CAST, _ADDRESS):
        for match in pattern.finditer(bytes(text)):
            _clear(text, *match.span(1))
    return bytes(text)


def _declare(text: bytearray, start: int, at: int) -> None:
    """Rewrites the declaration as a class, function, block, assignment or no-op statement."""
    line_end = text.find(b"\n", at)
    line_end = len(text) if line_end < 0 else line_end
    line = bytes(text[at:line_end])
    head = _HEAD.match(line)
    if head is not None and head["class"] is not None and b":" in line:
        _put(text, start, at + head.end("class"), b"class ")
    elif head is not None and head["from"] is not None:
        _put(text, start, at + head.end(), b"if 1")
    elif (function := _FUNCTION.match(line)) is not None and _end_of_head(text, at + line.index(b"(", function.end())):
        _put(text, start, at + function.end(), b"def ")
    elif (value := _VALUE.match(line)) is not None:
        name = re.compile(rb"\w+").match(text, at + value.end())
        if name is not None:
            _put(text, start, name.end(), name[0])
    else:
        _put(text, start, line_end, b"pass")


def _end_of_head(text: bytearray, opening: int) -> bool:
    """Whether a body follows the argument list that begins at `opening`."""
    closing = _closing(text, opening)
    return closing is not None and _TAIL.match(text, closing + 1) is not None


def _closing(text: bytearray, opening: int) -> int | None:
    depth = 0
    for match in re.finditer(rb"[()\[\]]", text[opening : opening + _LONGEST]):
        depth += 1 if match[0] in b"([" else -1
        if not depth:
            return opening + match.start()
    return None


def _clear_arguments(text: bytearray, opening: int) -> None:
    closing = _closing(text, opening)
    if closing is None:
        return
    for start, end in _parts(text, opening + 1, closing):
        for match in _NONE.finditer(text, start, end):
            _clear(text, *match.span())
        typed = _PARAMETER.match(text[start:end]) if end - start < _LONGEST_PARAMETER else None
        if typed is not None:
            _clear(text, start + typed.start("type"), start + typed.end("type"))
    tail = _TAIL.match(text, closing + 1)
    if tail is not None and tail["tail"] is not None and not tail["tail"].startswith(b"->"):
        _clear(text, *tail.span("tail"))


def _parts(text: bytearray, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the spans between commas that are outside brackets."""
    depth, first = 0, start
    for match in re.finditer(rb"[()\[\],]", bytes(text[first:end])):
        depth += (match[0] in b"([") - (match[0] in b")]")
        if match[0] == b"," and not depth:
            yield start, first + match.start()
            start = first + match.end()
    yield start, end


def _put(text: bytearray, start: int, end: int, what: bytes) -> None:
    if end - start >= len(what):
        text[start:end] = what.ljust(end - start)


def _clear(text: bytearray, start: int, end: int) -> None:
    text[start:end] = re.sub(rb"[^\n]", b" ", bytes(text[start:end]))
