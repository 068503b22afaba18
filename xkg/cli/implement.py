"""Implements `xkg implement` and `xkg implement apply`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xkg.agents.codification.fields import AllFields
from xkg.cli.command import PACKAGES, command
from xkg.cli.display.help import FoldedGroup
from xkg.cli.display.output import ProgressForm, Within, print_text
from xkg.errors import InputError

if TYPE_CHECKING:
    from xkg.agents.codification.result import CodificationResult
    from xkg.commands.implement import Applied
    from xkg.config import Settings

implement_app = typer.Typer(
    name="implement",
    cls=FoldedGroup,
    invoke_without_command=True,
    help="Let an agent implement a method in starter code, run it and check it.",
)
Run = Annotated[str, typer.Argument(help="Name of the run, or a prefix of the name.")]


@implement_app.callback()
@command(
    common=("method", "starter", "run", "metric", "data", "packages", "cpu", "llm", "max_cost", "as_json"),
    llm="Language model (default: llm.model, or o4-mini).",
    max_cost="Maximum cost of this run in dollars.",
    **PACKAGES,
)
def implement(
    settings: "Settings",
    fields: AllFields,
    task: Annotated[
        Path | None,
        typer.Option(help="Task file (implement.yaml); options override it."),
    ] = None,
    pseudocode: Annotated[Path | None, typer.Option(help="File with pseudocode for the method.")] = None,
    data_description: Annotated[Path | None, typer.Option(help="File that describes the data.")] = None,
    progress: ProgressForm = "text",
    within: Within = None,
) -> "CodificationResult":
    """Let an agent implement a method in starter code.

    The agent works on a private copy and runs everything in the sandbox; your repository stays unchanged until `xkg
    implement apply RUN`. The result has one of four classes: A runs without errors and beats the starter code, B runs
    without errors, C has errors, and D implements nothing. The exit code is 0 for A and B. To resume an interrupted
    run, repeat the command."""
    from xkg.agents.codification.task import read_task
    from xkg.cli.display.progress import json_lines, text_lines
    from xkg.commands.implement import implement

    texts = {"pseudocode": pseudocode, "data_description": data_description}
    described = {name: _text(path) for name, path in texts.items() if path is not None}
    roots = None if within is None else [Path(folder) for folder in within if folder]
    with json_lines() if progress == "json" else text_lines() as notify:
        return implement(settings, read_task(task, {**fields, **described}), notify, roots=roots)


@implement_app.command("transcript")
@command()
def transcript(
    settings: "Settings",
    run: Run,
    inspect: Annotated[
        Path | None, typer.Option(help="Write a log for `inspect view` to this file (.eval or .json).")
    ] = None,
) -> None:
    """Print the steps of a finished run or a run in progress as JSON lines, or write an Inspect log."""
    from xkg.commands import implement

    print_text(implement.transcript(settings, run, inspect), nl=inspect is not None)


@implement_app.command("apply")
@command()
def apply(
    settings: "Settings",
    run: Run,
    patch: Annotated[Path | None, typer.Option(help="Write a patch to this file instead of a branch.")] = None,
    branch: Annotated[str | None, typer.Option(help="Name of the branch (default: xkg/RUN).")] = None,
    to: Annotated[Path | None, typer.Option(help="Clone of the starter's repository to add the branch to.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Apply a result even if it was not accepted.")] = False,
) -> "Applied":
    """Add the result of a run to your repository as a branch, or write a patch."""
    from xkg.commands import implement

    return implement.apply(settings, run, patch=patch, branch=branch, to=to, force=force)


def _text(path: Path) -> str:
    from xkg.files import read_regular

    try:
        return read_regular(path, 1 << 20).decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error})") from error
