"""Rewrites Cython declarations as Python for the Python grammar to parse. All byte offsets stay the same. The grammar
skips the types in arguments and expressions (https://cython.readthedocs.io)."""

import re

SUFFIXES = frozenset(("pyx", "pxd", "pxi"))

_LONGEST = 4000  # the maximum number of bytes in a function's arguments
_BLOCK = re.compile(rb"(?m)^([ \t]*)(?:cdef|cpdef|ctypedef)\b[ \t]*(?:(?:public|api|packed|extern|inline)[ \t]+)*")
_HEAD = re.compile(
    rb"(?P<class>(?:class|struct|enum|union|cppclass|fused)\b[ \t]*)(?=\w|:)|(?P<from>from[^\n:]*|[ \t]*)(?=:)"
)
_FUNCTION = re.compile(rb"(?:[\w.*&,<> \t]|\[[^\[\]\n]*\]){0,200}?\b(?=(?:\w+|operator\S{1,3})[ \t]*\()")
_VALUE = re.compile(rb"(?:[\w.*&,<> \t]|\[[^\[\]\n]*\]){0,200}?[ \t*&\]](?=\w+[ \t]*=[^=])")
_TAIL = re.compile(
    rb"[ \t]*(?P<tail>(?:noexcept|except|nogil|with|\bgil|->)[^\n#]{0,200}?)?(?=:[ \t]*(?:#|$|\w|\.))", re.MULTILINE
)
_IMPORT = re.compile(rb"\bcimport\b")


def as_python(source: bytes) -> bytes:
    """Returns the rewritten source. Leaves unknown constructs unchanged, because the grammar recovers from them."""
    text = bytearray(_IMPORT.sub(b"import ", source))
    for match in _BLOCK.finditer(source):
        _declare(text, match.end(1), match.end())
    return bytes(text)


def _declare(text: bytearray, start: int, at: int) -> None:
    """Rewrites the declaration as a class, function, block, assignment or empty statement."""
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
    """Returns whether a body follows the argument list that begins at `opening`."""
    closing = _closing(text, opening)
    return closing is not None and _TAIL.match(text, closing + 1) is not None


def _closing(text: bytearray, opening: int) -> int | None:
    depth = 0
    for match in re.finditer(rb"[()\[\]]", text[opening : opening + _LONGEST]):
        depth += 1 if match[0] in b"([" else -1
        if not depth:
            return opening + match.start()
    return None


def _put(text: bytearray, start: int, end: int, what: bytes) -> None:
    if end - start >= len(what):
        text[start:end] = what.ljust(end - start)
