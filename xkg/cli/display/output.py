"""Prints the results of commands, as text or as JSON."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from xkg.cli import completion

if TYPE_CHECKING:
    from pydantic import BaseModel

    from xkg.serve.answer_text import AnyAnswer
    from xkg.serve.service import Service

A = TypeVar("A", bound="BaseModel")


def print_text(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Prints text without control sequences, since names and titles come from papers and repositories."""
    from xkg.serve.answers.quoting import visible

    typer.echo(visible(text), err=err, nl=nl)


def print_notes(notes: Iterable[str]) -> None:
    """Prints notes on stderr, folded to the terminal's width."""
    from xkg.cli.display.layout import width, wrapped

    for note in notes:
        print_text(wrapped(f"note: {note}", width()), err=True)


def print_each(results: "Sequence[BaseModel]", as_json: bool, *, several: bool = False) -> None:
    """Prints results one by one as text; as JSON, one object, or a list of several."""
    if as_json and (several or len(results) != 1):
        typer.echo(json.dumps([result.model_dump() for result in results], indent=2))
    else:
        for result in results:
            print_result(result, as_json)


def print_result(result: "BaseModel", as_json: bool) -> None:
    print_text(json_of(result.model_dump()) if as_json else str(result))


def print_answer(answer: "AnyAnswer", as_json: bool, service: "Service | None" = None) -> None:
    """Prints an answer as text, folded to the terminal's width, with short ids if `service` is given; as JSON, with
    whole ids."""
    from xkg.cli.display.layout import width, wrapped
    from xkg.serve.answer_text import text
    from xkg.serve.answers.concise import readable

    shown = in_commands(answer)
    if as_json:
        print_text(json_of(shown.model_dump()))
        return
    if service is not None:
        shown = readable(shown, service.short_ids, service.short_papers)
    print_text(wrapped(text(shown), width()))


def in_commands(answer: A) -> A:
    """The answer with notes that name commands instead of tools."""
    from xkg.cli.display.wording import for_people
    from xkg.serve.answers.notes import reworded

    return reworded(answer, for_people)


def json_of(value: dict[str, Any]) -> str:
    """Only ASCII: a lone surrogate in a paper cannot be encoded as UTF-8, but is valid JSON."""
    return json.dumps(value, indent=2)


if TYPE_CHECKING:  # a command imports its modules itself, so that `xkg serve` answers at once
    from xkg.config import Settings

Json = Annotated[bool, typer.Option("--json", help="Print JSON (docs/reference/json.md lists the fields).")]
Blacklisted = Annotated[
    Path | None,
    typer.Option("--blacklist", help="File of repositories and papers to exclude, with their forks and copies."),
]
PaperJobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=1024,
        help="Papers to build in parallel: 1, or with --engine ray as many as the nodes offer.",
    ),
]
Engine = Annotated[
    Literal["local", "ray"], typer.Option(help="Where to work: in processes of this machine, or on a Ray cluster.")
]
Address = Annotated[
    str | None, typer.Option(help="HOST:PORT of the Ray cluster's head, or auto; by default RAY_ADDRESS.")
]
AllowPublic = Annotated[
    bool, typer.Option("--allow-public", help="Allow a Ray cluster with public internet addresses.")
]
With = Annotated[
    list[str] | None,
    typer.Option("--with", help="Package to install in addition: h5py, 'numpy<2' (repeatable)."),
]
Cpu = Annotated[bool | None, typer.Option("--cpu", help="Run CUDA code on the CPU.")]
Paper = Annotated[str, typer.Argument(help="Id, title or method of a paper.", autocompletion=completion.papers)]
Papers = Annotated[
    list[str] | None,
    typer.Argument(help="Ids or titles of papers; none means all.", autocompletion=completion.papers),
]


def settings_of(context: typer.Context, **flags: object) -> "Settings":
    from xkg.config import load

    return load(kg=context.obj["kg"], **flags)


def present(**values: object) -> dict[str, object] | None:
    """The values that are not None, or None without any."""
    return {name: value for name, value in values.items() if value is not None} or None
