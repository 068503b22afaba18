"""Replaces names in a statement's source. Preserves everything else byte for byte."""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from xkg.build.code.languages.python import identifier_paths


class Edit(NamedTuple):
    """Replaces the bytes from `start` to `end` in a module's source."""

    start: int
    end: int
    text: str


class Source:
    """A module's text, addressed by positions in its syntax tree. Lines count from 1, and columns are in UTF-8
    bytes."""

    def __init__(self, text: str) -> None:
        self.data = text.encode("utf-8", "surrogatepass")
        self.line_starts = [0, *(m.end() for m in re.finditer(rb"\n", self.data)), len(self.data) + 1]

    def offset(self, line: int, column: int) -> int:
        return self.line_starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt | ast.alias | ast.ExceptHandler | ast.pattern) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def line(self, number: int) -> bytes:
        return self.data[self.line_starts[number - 1] : self.line_starts[number] - 1]

    def exchange(self, node: ast.expr, path: tuple[str, ...], text: str, inside: ast.expr | None) -> Iterator[Edit]:
        """Yields edits that replace the dotted name `path` at `node` with `text`. In strings and f-strings, replaces
        all occurrences, because Python's positions are unreliable there."""
        if inside is None:
            yield Edit(*self.span(node), text)
            return
        start, end = self.span(inside)
        if isinstance(inside, ast.JoinedStr):
            for at, stop, found in identifier_paths(self.data[start:end]):
                if found[: len(path)] == path:
                    length = len(".".join(path).encode())
                    yield Edit(start + at, start + min(at + length, stop), text)
            return
        dotted = re.escape(".".join(path).encode())
        for match in re.finditer(rb"(?<![\w.])" + dotted + rb"(?!\w)", self.data[start:end]):
            yield Edit(start + match.start(), start + match.end(), text)

    def heading(self, node: ast.AST, name: str, text: str) -> Iterator[Edit]:
        """Yields edits that rename a definition, a handler's name, a pattern's name or a `global` declaration."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            pattern = rb"(?:def|class)\s+(" + re.escape(name.encode()) + rb")(?!\w)"
        elif isinstance(node, ast.ExceptHandler):
            pattern = rb"\bas\s+(" + re.escape(name.encode()) + rb")(?!\w)"
        else:
            pattern = rb"(?<![\w.])(" + re.escape(name.encode()) + rb")(?!\w)"
        start, end = self.span(node)  # type: ignore[arg-type]
        match = re.compile(pattern).search(self.data, start, end)
        if match:
            yield Edit(match.start(1), match.end(1), text)

    def cut(self, start: int, end: int, edits: Iterable[Edit]) -> str:
        """Returns the text from `start` to `end` after applying these edits."""
        parts = []
        at = start
        for edit in sorted(set(edits)):
            if at <= edit.start and edit.end <= end:
                parts += [self.data[at : edit.start], edit.text.encode()]
                at = edit.end
        parts.append(self.data[at:end])
        return b"".join(parts).decode("utf-8", "surrogatepass")
