"""Implements `xkg run`, which runs a script on code from the graph."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xkg.cli import completion
from xkg.cli.command import PACKAGES, command
from xkg.cli.display.output import Json, json_of, print_text
from xkg.errors import InputError, XkgError

if TYPE_CHECKING:
    from xkg.config import Settings


@command(**PACKAGES)
def run(
    settings: "Settings",
    code: Annotated[
        str,
        typer.Argument(help="Id of the code or its technique, or a technique's name.", autocompletion=completion.nodes),
    ],
    script: Annotated[
        str | None, typer.Argument(help="Python file, or - for stdin; if omitted, prints a script to start from.")
    ] = None,
    lines: Annotated[str | None, typer.Option("-c", metavar="LINES", help="Python code instead of a file.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(readable=False, help="Folder for the script's files and figures; created if missing."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, help="Time limit in seconds (default: sandbox.seconds).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a script that uses code from the graph, in the sandbox, with the code's packages installed.

    The script can use every name that the code defines; `implementation` is its module. As in a notebook, the value of
    the last expression is printed, and open Matplotlib figures are saved. The script has no network access and cannot
    see your files; only the files that --out stores are kept. The exit status is 0 if the script succeeds, and 1
    otherwise."""
    from xkg.cli.display.live import steps
    from xkg.commands import run as scripts

    if lines is not None and script is not None:
        raise InputError(
            f"there are two scripts, {script!r} and -c; omit one, and put a name with several words in quotes"
        )
    if lines is None and script is None:
        print_text(scripts.example(settings, code), nl=False)
        name = shlex.quote(code)
        print_text(f"to run this or your own code: `xkg run {name} FILE`, or `xkg run {name} -c LINES`", err=True)
        return
    text, name = (lines, "<lines>") if lines is not None else scripts.read_script(script or "-")
    with steps() as show:
        answer = scripts.run(
            settings,
            code,
            text or "",
            file_name=name,
            seconds=seconds,
            notify=lambda at: show("installing", at.done_mb, at.total_mb, f"{at.packages} (MB)"),
        )
    written, refused = scripts.store(answer.files, out) if out is not None else ([], [])
    if as_json:
        print_text(json_of(answer.model_dump(mode="json")))
    else:
        print_text(answer.output, nl=not answer.output.endswith("\n") and bool(answer.output))
        for file in answer.files if out is None else ():
            print_text(f"the script wrote {file.name} ({file.size:,} bytes); pass --out FOLDER to save it", err=True)
        for left in written:
            print_text(f"wrote {out}/{left}", err=True)
        for left in answer.left_out:
            print_text(f"not returned: {left}", err=True)
    for left in refused:
        print_text(f"not written: {left}", err=True)
    if answer.error:
        raise XkgError(f"the script failed: {answer.error}")
    if refused:
        raise typer.Exit(1)
