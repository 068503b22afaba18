"""Parses source with tree-sitter in bounded time and memory, and reads syntax nodes."""

import time
from collections.abc import Iterator

from tree_sitter import Language, Node, Parser, Query, QueryCursor

SECONDS = 5.0  # CPU seconds per file; a megabyte of ordinary code takes one or two
_CHUNK = 1 << 16


def syntax_root(language: Language, source: bytes) -> Node | None:
    """Returns the root of the syntax tree. Returns None if parsing exceeds the time limit, because error recovery can
    take quadratic time or worse.

    Use `node_text` to read the text of a node. `Node.text` would copy 64 KB for each node."""
    end = time.thread_time() + SECONDS
    # tree-sitter 0.26 never frees the buffers that `read` returns. Therefore, every call refills and returns the same
    # buffer, which is cleared at the end. When tree-sitter asks for more input, it no longer needs the earlier content.
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


def matches(query: Query, root: Node) -> Iterator[dict[str, Node]]:
    """Returns the captures for each match of a query. The node for the whole match comes first."""
    # No progress callback is passed, because it would crash tree-sitter 0.26.1. The time is linear in the file size.
    return ({name: nodes[0] for name, nodes in captures.items()} for _, captures in QueryCursor(query).matches(root))


def node_text(node: Node, source: bytes) -> str:
    """Returns the source text of a syntax node."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
