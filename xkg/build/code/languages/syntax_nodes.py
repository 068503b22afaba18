"""Reads syntax nodes by a language's table: text, parts of names, imported names."""

import time
from collections.abc import Iterator

from tree_sitter import Language, Node, Parser

from xkg.build.code.languages.grammars import Grammar

SECONDS = 5.0  # CPU seconds for one file; a million bytes of ordinary code take one or two
_CHUNK = 1 << 16
_DEEPEST_NAME = 64
_FIRST = 8  # children that may be named by their kind


def syntax_root(language: Language, source: bytes) -> Node | None:
    """The root of the syntax tree, or None if parsing exceeds its time limit: error recovery can take quadratic time
    and more. Read the text of nodes with `node_text`; `Node.text` would copy 64 KB each."""
    end = time.thread_time() + SECONDS
    # tree-sitter 0.26 never frees the buffers that `read` returns. So every call returns the same buffer, refilled,
    # and it is emptied at the end. When tree-sitter asks for more, it no longer uses the earlier content.
    chunk = bytearray()

    def read(at: int, _: object) -> bytearray:
        chunk[:] = source[at : at + _CHUNK]
        return chunk

    try:
        return Parser(language).parse(read, progress_callback=lambda _, __: time.thread_time() > end).root_node
    except ValueError:
        return None
    finally:
        chunk.clear()


def node_text(node: Node, source: bytes) -> str:
    """The text of a syntax node of a source."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def node_at(node: Node, path: str) -> Node | None:
    current: Node | None = node
    for step in path.split("/") if path else ():
        if current is None:
            return None
        if step.lstrip("-").isdecimal():
            count, at = current.named_child_count, int(step)
            at += count if at < 0 else 0
            current = current.named_child(at) if 0 <= at < count else None
        else:
            current = current.child_by_field_name(step) or _first(current, step)
    return current


def _first(node: Node, kind: str) -> Node | None:
    """The first child of a kind, among the first few children."""
    some = (node.named_child(at) for at in range(min(node.named_child_count, _FIRST)))
    return next((child for child in some if child is not None and child.type == kind), None)


def name_parts(node: Node, grammar: Grammar, source: bytes) -> tuple[tuple[str, ...], frozenset[str]]:
    """The parts of a name ('' for an unnamed part, such as the result of a call), and the kinds of nodes on the
    path."""
    parts: list[str] = []
    kinds: set[str] = set()
    waiting = [node]
    for _ in range(_DEEPEST_NAME):
        if not waiting:
            return tuple(parts), frozenset(kinds)
        at = waiting.pop()
        kinds.add(at.type)
        if at.type in grammar.leaves:
            parts.append("".join(node_text(at, source).split()).replace(".", ""))
        elif (paths := grammar.names.get(at.type)) is not None:
            waiting += reversed([part for path in paths if (part := node_at(at, path)) is not None])
        else:
            parts.append("")
    return ("",), frozenset(kinds)


def bound_names(node: Node, source: bytes) -> Iterator[tuple[str, str | None]]:
    """The names that a JavaScript import binds, with their names in the imported module."""
    clause = next((c for c in node.named_children if c.type == "import_clause"), None)
    for child in clause.named_children if clause is not None else ():
        if child.type == "identifier":
            yield node_text(child, source), "default"
        elif child.type == "namespace_import":
            yield node_text(child, source).rpartition(" ")[2], None
        else:
            for item in child.named_children:
                name, alias = item.child_by_field_name("name"), item.child_by_field_name("alias")
                if name is not None:
                    yield node_text(alias or name, source), node_text(name, source)
