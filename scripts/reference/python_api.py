"""Generates the Python API reference from docstrings."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import xkg
from scripts.reference.markdown import fenced, page, prose
from xkg import errors


def python() -> str:
    methods = [method for name, method in vars(xkg.KnowledgeGraph).items() if not name.startswith("_")]
    return page(
        "Python API",
        "the docstrings of xkg",
        [
            "For a guide, see [From Python](../howto/python.md). For the types of the answers, see "
            "[JSON fields](json.md).",
            *_function(xkg.open, "## xkg.open"),
            "## xkg.KnowledgeGraph",
            prose(xkg.KnowledgeGraph.__doc__),
            *(part for method in methods for part in _function(method, f"### {method.__name__}")),
            *_function(xkg.open_async, "## xkg.open_async"),
            "## xkg.AsyncKnowledgeGraph",
            prose(xkg.AsyncKnowledgeGraph.__doc__),
            "## Errors",
            "Each error is available as `xkg.NAME`.",
            prose(errors.XkgError.__doc__),
            fenced("\n".join(_tree(errors.XkgError)), "text"),
        ],
    )


def _tree(error: type[errors.XkgError], depth: int = 0) -> Iterator[str]:
    """Yields an error's subclasses, one per line, with the first line of each docstring."""
    for child in (each for each in error.__subclasses__() if each.__module__ == errors.__name__):
        yield f"{'    ' * depth + child.__name__:<32}{(child.__doc__ or '').splitlines()[0]}"
        yield from _tree(child, depth + 1)


def _function(function: Callable[..., Any], heading: str) -> Iterator[str]:
    signature = inspect.signature(function)
    given = [p.replace(annotation=_bare(p.annotation)) for p in signature.parameters.values() if p.name != "self"]
    lines = str(signature.replace(parameters=given, return_annotation=_bare(signature.return_annotation)))
    name = heading.removeprefix("#" * heading.count("#")).strip()
    whole = f"{name}{lines}"
    if len(whole) > 100:
        whole = "\n".join([f"{name}(", *_lines(given), f") -> {_bare(signature.return_annotation)}"])
    yield heading
    yield fenced(whole.replace("'", ""), "text")
    yield prose(function.__doc__)


def _lines(given: Iterable[inspect.Parameter]) -> Iterator[str]:
    """Yields one line for each parameter, and one for the `*` before keyword-only parameters."""
    starred = False
    for parameter in given:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            yield "    *,"
            starred = True
        yield f"    {parameter},"


def _bare(annotation: Any) -> Any:
    """Returns the annotation, without quotes if it was written as a string."""
    return annotation.strip('"') if isinstance(annotation, str) else annotation
