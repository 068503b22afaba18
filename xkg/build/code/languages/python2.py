"""Converts Python 2 to Python 3 syntax line by line for slicing and comparison."""

import re
from collections.abc import Iterator
from functools import lru_cache

from tree_sitter import Node

from xkg.build.code.languages.python import language, parse_ast
from xkg.build.code.languages.syntax_nodes import syntax_root

_MARGIN = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)
_OCTAL = re.compile(rb"0[0-7]+[lL]?")
_LONG = re.compile(rb"(?:0[xX][0-9a-fA-F]+|[0-9]+)[lL]")
_PREFIX = re.compile(rb"[uU][rR]")
# Functions that Python 3 renamed.
_RENAMED = {b"xrange": b"range", b"raw_input": b"input", b"unicode": b"str", b"unichr": b"chr"}
_METHODS = {b"iteritems": b"items", b"itervalues": b"values", b"iterkeys": b"keys"}

_OTHER_XRANGE = re.compile(r"\bxrange\b(?!\s*+\()")

_Change = tuple[int, int, bytes]  # start, end, and the replacement


@lru_cache(maxsize=256)
def as_python3(text: str) -> str:
    """Returns the text in Python 3 syntax, with the same lines. Rewrites prints, handlers, raises, numbers, operators
    and renamed builtins. Replaces leading tabs with spaces. Does not raise errors for invalid text.

    Returns the text unchanged if the running Python can parse it and it does not call `xrange`, or if the rewritten
    text does not parse. Keeps `/`, because Python 2 floors only integer quotients and the operand types are unknown."""
    if parse_ast(text) is not None and not uses_xrange(text):
        return text
    spaced = _MARGIN.sub(lambda margin: margin[0].expandtabs(8), text)
    source = spaced.encode("utf-8", "surrogatepass")
    root = syntax_root(language(), source)
    if root is None:
        return text
    parts: list[bytes] = []
    at = 0
    for first, end, instead in sorted(_changes(root, source)):
        if first >= at:
            parts += [source[at:first], instead]
            at = end
    parts.append(source[at:])
    changed = b"".join(parts).decode("utf-8", "surrogatepass")
    return changed if parse_ast(changed) is not None else text


def uses_xrange(text: str) -> bool:
    """Returns whether `xrange` is called but neither imported nor assigned. Code that supports both Python 2 and Python
    3 would import or assign it."""
    return "xrange" in text and _OTHER_XRANGE.search(text) is None


def _changes(root: Node, source: bytes) -> Iterator[_Change]:
    cursor = root.walk()
    while True:
        node = cursor.node
        if node is not None:
            yield from _of_node(node, source)
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _of_node(node: Node, source: bytes) -> Iterator[_Change]:
    kind, start, end = node.type, node.start_byte, node.end_byte
    if kind == "print_statement":
        yield from _print(node, source)
    elif kind == "exec_statement":
        arguments = node.named_children
        yield start, arguments[0].start_byte, b"exec("
        if len(arguments) > 1:
            yield arguments[0].end_byte, arguments[1].start_byte, b", "
        yield end, end, b")"
    elif kind == "except_clause":
        for comma in (child for child in node.children if child.type == ","):
            yield comma.start_byte, comma.end_byte, b" as"
    elif kind == "raise_statement":
        yield from _raise(node)
    elif kind == "<>":
        yield start, end, b"!="
    elif kind == "integer":
        number = source[start:end]
        if _LONG.fullmatch(number) or (_OCTAL.fullmatch(number) and number.strip(b"0")):
            bare = number.rstrip(b"lL")
            yield start, end, b"0o" + bare[1:] if _OCTAL.fullmatch(bare) and bare.strip(b"0") else bare
    elif kind == "string_start":
        mark = source[start:end]
        if mark == b"`":
            yield start, end, b"repr("
        elif _PREFIX.match(mark):
            yield start, end, mark[1:]
    elif kind == "string_end" and source[start:end] == b"`":
        yield start, end, b")"
    elif kind == "call":
        yield from _call(node, source)


def _print(node: Node, source: bytes) -> Iterator[_Change]:
    """Rewrites `print >>file, a, b,` as a function call."""
    after = [child for child in node.children[1:] if child.type not in ("comment", "line_continuation")]
    arguments = [child for child in after if child.type not in (",", "chevron")]
    named = b""
    chevron = next((child for child in after if child.type == "chevron"), None)
    if chevron is not None:
        named += b"file=" + source[chevron.start_byte + 2 : chevron.end_byte].strip()
    last = after[-1] if after else None
    ends_open = last is not None and last.type == "," and bool(arguments)
    if ends_open:
        named += (b", " if named else b"") + b'end=" "'
    first = arguments[0].start_byte if arguments else node.end_byte
    yield node.start_byte, first, b"print("
    if ends_open and last is not None:
        yield last.start_byte, node.end_byte, (b", " if arguments else b"") + named + b")"
    else:
        yield node.end_byte, node.end_byte, (b", " if named and arguments else b"") + named + b")"


def _raise(node: Node) -> Iterator[_Change]:
    """Rewrites `raise Error, "what"` with the argument in parentheses."""
    listed = next((child for child in node.named_children if child.type == "expression_list"), None)
    if listed is None or len(listed.named_children) < 2:
        return
    error, what, *trace = listed.named_children
    yield error.end_byte, what.start_byte, b"("
    yield what.end_byte, trace[0].start_byte if trace else what.end_byte, b").with_traceback(" if trace else b")"
    if trace:
        yield node.end_byte, node.end_byte, b")"


def _call(node: Node, source: bytes) -> Iterator[_Change]:
    called = node.child_by_field_name("function")
    if called is None:
        return
    names = _RENAMED if called.type == "identifier" else _METHODS
    name = called if called.type == "identifier" else called.child_by_field_name("attribute")
    if name is not None and (instead := names.get(source[name.start_byte : name.end_byte])) is not None:
        yield name.start_byte, name.end_byte, instead
