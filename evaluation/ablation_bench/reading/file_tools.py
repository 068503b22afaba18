"""Read-only tools for agents over the files of a paper and its repository. Nothing else can be read."""

import re
from pathlib import Path

from inspect_ai.tool import Tool, ToolError, tool

_LINES = 200
_MOST_CHARACTERS = 24_000
_LONGEST_READ = 8_000
_MOST_BYTES = 8_000_000
_MOST_HITS = 50
_LONGEST_LINE = 400


class Files:
    """The text files of a folder, or one file, without links that lead out of it."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def names(self) -> list[str]:
        if self._root.is_file():
            return [self._root.name]
        return [
            path.relative_to(self._root).as_posix()
            for path in sorted(self._root.rglob("*"))
            if path.is_file() and path.resolve().is_relative_to(self._root)
        ]

    def lines(self, name: str) -> list[str]:
        """Raises `ToolError` if the file does not exist."""
        if name not in self.names():
            raise ToolError(f"no file {name!a}: list_files lists them")
        path = self._root if self._root.is_file() else self._root / name
        with path.open("rb") as opened:
            return opened.read(_MOST_BYTES).decode("utf-8", "replace").splitlines()


def _around(line: str, start: int) -> str:
    """The line, or the text around its first match: a line is often a whole paragraph."""
    first = max(0, min(start - _LONGEST_LINE // 2, len(line) - _LONGEST_LINE))
    shown = line[first : first + _LONGEST_LINE]
    return f"{'…' if first else ''}{shown}{'…' if first + len(shown) < len(line) else ''}"


@tool
def list_files(files: Files) -> Tool:
    async def execute() -> str:
        """List the files of the paper."""
        return "\n".join(files.names()[:2000])

    return execute


@tool
def read_lines(files: Files) -> Tool:
    async def execute(path: str, first_line: int = 1) -> str:
        """Read a file from a given line: up to 200 lines, fewer if they are long. The last line says where to continue.

        Args:
            path: Path of the file, as list_files gives it.
            first_line: The first line to read, from 1.
        """
        lines = files.lines(path)
        start = max(1, first_line)
        if start > len(lines):
            raise ToolError(f"{path} has {len(lines)} lines")
        shown: list[str] = []
        room = _MOST_CHARACTERS
        for n, line in enumerate(lines[start - 1 : start - 1 + _LINES], start=start):
            text = f"{n}\t{line[:_LONGEST_READ]}"
            if shown and len(text) > room:
                break
            shown.append(text)
            room -= len(text)
        following = start + len(shown)
        rest = len(lines) - following + 1
        shown.append(f"({rest} more lines, from first_line={following})" if rest else "(the end of the file)")
        return "\n".join(shown)

    return execute


@tool
def find_text(files: Files) -> Tool:
    async def execute(text: str) -> str:
        """Find the lines of the files that contain a text, ignoring case.

        Args:
            text: The literal text, not a pattern.
        """
        wanted = re.compile(re.escape(text), re.I)
        hits = (
            f"{name}:{n}: {_around(line, hit.start())}"
            for name in files.names()
            for n, line in enumerate(files.lines(name), start=1)
            if (hit := wanted.search(line))
        )
        found = [hit for _, hit in zip(range(_MOST_HITS), hits, strict=False)]
        return "\n".join(found) or "nothing found"

    return execute
