"""Prints the results of commands, as text or as JSON."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from xkg.cli import completion

if TYPE_CHECKING:
    from pydantic import BaseModel

    from xkg.errors import XkgError
    from xkg.serve.service import Service

A = TypeVar("A", bound="BaseModel")


def print_text(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Prints text without control sequences. Names and titles come from papers and repositories, which are
    untrusted."""
    from xkg.serve.answers.quoting import visible

    typer.echo(visible(text), err=err, nl=nl)


def print_notes(notes: Iterable[str]) -> None:
    """Prints notes on stderr, wrapped to the terminal's width."""
    from xkg.cli.display.layout import width, wrapped

    for note in notes:
        print_text(wrapped(f"note: {note}", width()), err=True)


def print_result(result: "BaseModel", as_json: bool) -> None:
    """Prints a result, wrapped to the terminal's width, and its notes and omissions on stderr. Then raises the result's
    `failure`, if any."""
    from xkg.cli.display.layout import width, wrapped

    print_notes(getattr(result, "notes", ()))
    for line in getattr(result, "left_out", ()):
        print_text(f"left out: {line}", err=True)
    print_text(json_of(result.model_dump()) if as_json else wrapped(str(result), width()))
    failure: XkgError | None = getattr(result, "failure", None)
    if failure is not None:
        raise failure


def print_answer(answer: Any, as_json: bool, service: "Service") -> None:
    """Prints an answer as text or JSON. Text uses short ids and is wrapped to the terminal's width; JSON uses full
    ids."""
    from xkg.cli.display.layout import width, wrapped
    from xkg.serve.answer_text import AnyAnswer, text
    from xkg.serve.answers.budget import readable

    shown = in_commands(answer)
    if as_json:
        print_text(json_of(shown.model_dump()))
        return
    if isinstance(shown, AnyAnswer):
        shown = text(readable(shown, service.short_ids, service.short_papers))
    print_text(wrapped(str(shown), width()))


def in_commands(answer: A) -> A:
    """Returns the answer with notes that mention commands instead of tools."""
    from xkg.cli.display.wording import for_people
    from xkg.serve.answers.notes import reworded

    return reworded(answer, for_people)


def json_of(value: object) -> str:
    """Returns ASCII-only JSON. Papers may contain lone surrogates, which can be escaped but not encoded as UTF-8."""
    return json.dumps(value, indent=2)


Json = Annotated[bool, typer.Option("--json", help="Print JSON (docs/reference/json.md lists the fields).")]
Blacklisted = Annotated[
    Path | None,
    typer.Option(
        "--blacklist", help="File that lists repositories and papers to exclude, along with their forks and copies."
    ),
]
ProgressForm = Annotated[
    Literal["text", "json"], typer.Option("--progress", help="Format of the progress on stderr: text or JSON lines.")
]
Within = Annotated[
    list[str] | None, typer.Option("--within", hidden=True, help="Folders that may contain the code; '' allows none.")
]
Paper = Annotated[str, typer.Argument(help="Id, title or method name of a paper.", autocompletion=completion.papers)]
Papers = Annotated[
    list[str] | None,
    typer.Argument(help="Ids or titles of papers (default: all).", autocompletion=completion.papers),
]
