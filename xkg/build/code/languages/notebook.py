"""Converts a Jupyter notebook to a Python module.

The module is the concatenation of the code cells. **A notebook's line numbers refer to the lines in these cells**, not
in the JSON file. Magics, shell commands and help queries ("obj?") become comments, so the number of lines does not
change.

Supports versions 3 and 4 of the format (https://nbformat.readthedocs.io/en/latest/format_description.html). Version 3
notebooks contain worksheets."""

import json
import re
from collections.abc import Iterator
from typing import Any

_CELL_MAGIC = re.compile(r"\s*%%(?P<name>\w+)")
_PYTHON_BELOW = frozenset(("time", "timeit", "capture", "prun", "memit", "mprun", "heat", "python", "python3", "pypy"))
_LINE = re.compile(
    r"(?P<indent>[ \t]*)(?:(?P<target>[^\W\d][\w., ]{0,100}?)[ \t]{0,10}=[ \t]{0,10})?(?:%{1,2}[^\W\d]|!)"
    r"|(?P<query>[ \t]*)(?:\?{1,2}[\w.*]+|[\w.*]+\?{1,2})[ \t]*$"
)
_TOKEN = re.compile(
    r"#[^\n]*|(?P<triple>\"\"\"|''')|\"(?:\\.|[^\"\\\n])*(?:\"|$)|'(?:\\.|[^'\\\n])*(?:'|$)|(?P<open>[(\[{])|(?P<close>[)\]}])"
)


def notebook_source(content: bytes) -> str | None:
    """Returns the notebook's code cells as one Python source text, or None if the notebook is not in Python.

    Raises `ValueError` if the file is not JSON or has no cells."""
    try:
        notebook = json.loads(content.decode("utf-8-sig"))
        code = [_text(cell) for cell in _cells(notebook) if cell.get("cell_type") == "code" and _is_python(cell)]
        if not _is_python(notebook.get("metadata", {})):
            return None
    except (UnicodeDecodeError, RecursionError, TypeError, AttributeError) as error:
        raise ValueError("no notebook") from error
    source = "".join(f"{python_cell(text)}\n" for text in code if text.strip())
    return source.encode("utf-8", "replace").decode()  # JSON may contain lone surrogates


def _cells(notebook: Any) -> Iterator[dict[str, Any]]:
    if "cells" not in notebook and "worksheets" not in notebook:
        raise ValueError("no notebook")
    for sheet in notebook.get("worksheets", ()):
        yield from sheet.get("cells", ())
    yield from notebook.get("cells", ())


def _is_python(metadata: dict[str, Any]) -> bool:
    """Returns whether the metadata identifies a Python notebook. In format 3, each cell has its own metadata. Assumes
    Python if the metadata does not specify a language."""
    language = (
        metadata.get("language_info", {}).get("name")
        or metadata.get("kernelspec", {}).get("language")
        or metadata.get("language")
        or "python"
    )
    return "python" in str(language).lower()


def _text(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = source if isinstance(source, str) else "".join(str(line) for line in source)
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def python_cell(cell: str) -> str:
    """Returns the cell with IPython syntax commented out. The number of lines does not change.

    Cells for other programs (`%%bash`) and cells with unclosed brackets or strings become comments, so later cells
    still parse. Names assigned from a magic are set to None."""
    magic = _CELL_MAGIC.match(cell)
    if magic is not None and magic["name"] not in _PYTHON_BELOW:
        return _as_comment(cell)
    out: list[str] = []
    state = _State()
    for line in cell.split("\n"):
        special = _LINE.match(line) if state.at_statement else None
        line = _commented(line, special) if special else line
        state.read(line)
        out.append(line)
    return "\n".join(out) if state.at_statement else _as_comment(cell)


def _as_comment(cell: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in cell.split("\n"))


def _commented(line: str, special: re.Match[str]) -> str:
    if special["target"]:
        return f"{special['indent']}{special['target']} = None  # {line.strip()}"
    indent = special["indent"] or special["query"] or ""
    return f"{indent}pass  # {line.strip()}" if indent else f"# {line}"


class _State:
    """Tracks whether the next line begins a statement. Inside brackets and strings, `%` and `!` do not start magics."""

    def __init__(self) -> None:
        self._depth, self._quote, self._continued = 0, "", False

    @property
    def at_statement(self) -> bool:
        return not (self._depth or self._quote or self._continued)

    def read(self, line: str) -> None:
        at, comment = 0, False
        while at < len(line):
            if self._quote:
                close = line.find(self._quote, at)
                if close < 0:
                    return
                at, self._quote = close + 3, ""
                continue
            token = _TOKEN.search(line, at)
            if token is None:
                break
            at, comment = token.end(), token[0].startswith("#")
            if token["triple"]:
                self._quote = token["triple"]
            elif token["open"]:
                self._depth += 1
            elif token["close"]:
                self._depth = max(0, self._depth - 1)
        self._continued = not self._quote and line.endswith("\\") and not comment
