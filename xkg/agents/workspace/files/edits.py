"""Applies edits to files. An edit replaces a piece of text, a whole function or a whole file. Each edit either applies
exactly or is refused with a reason."""

import ast
import textwrap
from collections.abc import Mapping, Sequence
from typing import Literal

from xkg.agents.workspace.files.writable_paths import refused_path
from xkg.llm.client import AnswerType
from xkg.sandbox.evidence.python_ast import silently, syntax_tree

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class FileEdit(AnswerType):
    """`replace`: `target` is text that occurs once in the file, and `text` replaces it. `function`: `target` is the
    qualified name of a function or class, and `text` is its complete new definition. `file`: `text` is the complete new
    file, and `target` is empty."""

    file: str
    kind: Literal["replace", "function", "file"]
    target: str
    text: str


class EditError(ValueError):
    """Raised when edits cannot be applied. The message tells the model why."""


def applied(texts: Mapping[str, str], edits: Sequence[FileEdit]) -> dict[str, str]:
    """Applies edits in order, and returns the new text of each changed file. Raises `EditError` if an edit does not
    match exactly, if nothing changes, or if the resulting Python does not parse."""
    if not edits:
        raise EditError("there is no edit; give at least one")
    changed: dict[str, str] = {}
    for number, edit in enumerate(edits, 1):
        if why := refused_path(edit.file, texts):
            raise EditError(f"edit {number}: {edit.file!a} must not be written: {why}")
        text = changed.get(edit.file, texts.get(edit.file))
        if edit.kind == "file":
            changed[edit.file] = _ended(edit.text)
            continue
        if text is None:
            raise EditError(f"edit {number}: there is no text file {edit.file!a}; use kind `file` to create one")
        replace = _function if edit.kind == "function" else _searched
        changed[edit.file] = replace(text, edit, number)
    changed = {path: text for path, text in changed.items() if texts.get(path) != text}
    if not changed:
        raise EditError("the edits change nothing: the files already have this content")
    for path, text in changed.items():
        if path.endswith(".py") and (fault := syntax_error(text)) is not None:
            raise EditError(f"{path} would not be valid Python: {fault}")
    return changed


def syntax_error(text: str) -> str | None:
    """Returns the location and cause of a syntax error, or None for valid Python."""
    try:
        with silently():
            compile(text, "file", "exec", dont_inherit=True)
    except SyntaxError as error:
        line = (error.text or "").strip()[:120]
        return f"line {error.lineno}: {error.msg}" + (f" in `{line}`" if line else "")
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error)[:200] or type(error).__name__
    return None


def _searched(text: str, edit: FileEdit, number: int) -> str:
    if not edit.target:
        raise EditError(f"edit {number}: the search text is empty; copy a few whole lines of {edit.file}")
    count = text.count(edit.target)
    if count == 1:
        return text.replace(edit.target, edit.text)
    first = " ".join(edit.target.strip().split("\n")[0].split())[:100]
    if count:
        raise EditError(f"edit {number}: `{first}` occurs {count} times in {edit.file}; search for more lines")
    raise EditError(
        f"edit {number}: `{first}` does not occur in {edit.file} as given; copy it exactly, including indentation"
    )


def _function(text: str, edit: FileEdit, number: int) -> str:
    try:
        tree = syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError):
        raise EditError(f"edit {number}: {edit.file} does not parse, so its functions cannot be found") from None
    found = [node for name, node in definitions(tree) if name == edit.target]
    if len(found) != 1:
        names = ", ".join(name for name, _ in definitions(tree)) or "none"
        times = f"{len(found)} definitions" if found else "no definition"
        raise EditError(f"edit {number}: {edit.file} has {times} of `{edit.target}`; it has: {names[:400]}")
    node = found[0]
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    new = textwrap.indent(textwrap.dedent(edit.text).strip("\n"), " " * node.col_offset)
    lines = text.split("\n")
    return "\n".join([*lines[: start - 1], *new.split("\n"), *lines[node.end_lineno :]])


def definitions(
    tree: ast.AST, above: str = ""
) -> list[tuple[str, "ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef"]]:
    """Returns functions and classes with their qualified names. Omits nested functions."""
    found: list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _DEFINITIONS):
            found.append((f"{above}{node.name}", node))
            if isinstance(node, ast.ClassDef):
                found += definitions(node, f"{above}{node.name}.")
        elif isinstance(node, (ast.If, ast.Try)):
            found += definitions(node, above)
    return found


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
