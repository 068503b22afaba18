"""Copies text in fragments, recording the file and line of each."""

import re
from dataclasses import dataclass, field

from xkg.build.paper.files import LARGEST_TEXT
from xkg.build.paper.latex.tex.tokens import Tex
from xkg.errors import UnsafeInputError

_INDENT = re.compile(r"[ \t]*+")
_MOST_WARNINGS = 50


@dataclass(slots=True)
class Copy:
    """Text assembled from copied fragments. Each fragment has a span in the whole text, a file and a line."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0
    spans: list[tuple[int, int, str, int]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def warn(self, line: str) -> None:
        if line not in self.warnings and len(self.warnings) < _MOST_WARNINGS:
            self.warnings.append(line)


class Copier:
    """Copies a file in fragments. All text before the offset `at` has been copied or dropped."""

    def __init__(self, path: str, text: str, output: Copy, start: int) -> None:
        self.path, self.text, self.to, self.at = path, text, output, start
        self.line, self.line_at = 1, 0
        self._never: set[str] = set()
        self._tex: Tex | None = None

    def braces(self) -> Tex:
        if self._tex is None:
            self._tex = Tex(self.text)
        return self._tex

    def find(self, needle: str, at: int) -> int:
        """Works like `str.find`, but never searches again for a string that was not found."""
        if needle in self._never:
            return -1
        position = self.text.find(needle, at)
        if position < 0:
            self._never.add(needle)
        return position

    def drop(self, start: int, end: int) -> int:
        """Copies the text up to `start`, then skips to `end`."""
        if start > self.at:
            self.line += self.text.count("\n", self.line_at, self.at)
            self.line_at = self.at
            output = self.to
            piece = self.text[self.at : start]
            if output.length + len(piece) > LARGEST_TEXT:
                raise UnsafeInputError(
                    f"{self.path} and its inputs exceed {LARGEST_TEXT // 1_000_000} MB, too much for a paper"
                )
            output.pieces.append(piece)
            output.spans.append((output.length, output.length + len(piece), self.path, self.line))
            output.length += len(piece)
        self.at = end
        return end

    def comment(self, start: int) -> int:
        """Removes a comment, its line break and the next line's indentation, as TeX does. Never removes a blank
        line."""
        text = self.text
        line_end = text.find("\n", start)
        if line_end < 0:
            return self.drop(start, len(text))
        line_start = text.rfind("\n", max(0, start - 200), start) + 1
        alone = start - line_start < 200 and not text[line_start:start].strip()
        indent = _INDENT.match(text, line_end + 1)
        after = indent.end() if indent else line_end + 1
        blank_follows = after >= len(text) or text[after] == "\n"
        if alone and line_start >= self.at:
            return self.drop(line_start, line_end + 1)
        if blank_follows or text[start - 1 : start].isspace() or start == self.at:
            return self.drop(start, line_end)
        return self.drop(start, after)
