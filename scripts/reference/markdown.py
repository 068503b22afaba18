"""Renders Markdown pages, including text from docstrings."""

import doctest
import inspect
from collections.abc import Iterable


def page(title: str, source: str, parts: Iterable[str]) -> str:
    note = f"<!-- Written by `make reference` from {source}: change it there. -->"
    return "\n\n".join([f"# {title}", note, *(part.strip("\n") for part in parts if part)]) + "\n"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    every = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in every)


def fenced(text: str, language: str) -> str:
    return f"```{language}\n{text.strip()}\n```"


def prose(docstring: str | None) -> str:
    """Renders a docstring as Markdown, with its doctests as code blocks."""
    parts: list[str] = []
    shown = ""
    for part in doctest.DocTestParser().parse(inspect.cleandoc(docstring or "")):
        if isinstance(part, doctest.Example):
            first, *rest = part.source.splitlines()
            shown += "\n".join([f">>> {first}", *(f"... {line}" for line in rest)]) + "\n" + part.want
        elif part.strip():
            parts += [*([fenced(shown, "pycon")] if shown else []), part.strip()]
            shown = ""
    return "\n\n".join([*parts, *([fenced(shown, "pycon")] if shown else [])])
