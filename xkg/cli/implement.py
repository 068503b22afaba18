"""`xkg implement` and `xkg implement apply`."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from xkg.cli.display.help import FoldedGroup, HelpAll
from xkg.cli.display.output import Cpu, Json, With, present, print_notes, print_result, print_text, settings_of
from xkg.errors import InputError

if TYPE_CHECKING:
    from xkg.agents.codification.result import CodificationResult

ERRONEOUS = 1


class ImplementCommand(FoldedGroup):
    common = frozenset({"method", "starter", "run", "metric", "data", "with_", "cpu", "llm", "max_cost", "as_json"})


implement_app = typer.Typer(
    name="implement",
    cls=ImplementCommand,
    invoke_without_command=True,
    help="Let an agent implement a method in starter code, run it and check it.",
)


@implement_app.callback()
def implement(
    context: typer.Context,
    method: Annotated[
        str | None,
        typer.Option(help="paper.tex#sec:method, a text file, a paper or technique of the graph, or the text itself."),
    ] = None,
    starter: Annotated[str | None, typer.Option(help="Folder, folder@commit or https URL of the starter code.")] = None,
    run: Annotated[
        str | None, typer.Option(help="Command that trains and evaluates, such as 'python train.py'.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="'test acc: ([0-9.]+):max', json:FILE#PATH:max or csv:FILE#COLUMN:min."),
    ] = None,
    evaluate: Annotated[
        str | None,
        typer.Option(help="Command that measures the output of --run in a separate sandbox, and prints the metric."),
    ] = None,
    task: Annotated[
        Path | None, typer.Option(help="File with all of these (implement.yaml); flags override it.")
    ] = None,
    script: Annotated[str | None, typer.Option(help="File of the starter to start from.")] = None,
    baseline: Annotated[float | None, typer.Option(help="Metric of the starter, instead of measuring it.")] = None,
    pseudocode: Annotated[Path | None, typer.Option(help="File with pseudocode of the method.")] = None,
    data_description: Annotated[Path | None, typer.Option(help="File that says what the data is.")] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="PATH=FOLDER: mount this folder read-only at PATH (repeatable).")
    ] = None,
    related: Annotated[
        list[str] | None,
        typer.Option(
            help="File or folder that belongs to the method, in the starter or elsewhere, read-only (repeatable)."
        ),
    ] = None,
    protect: Annotated[
        list[str] | None,
        typer.Option(help="File, or file::function, of the evaluation that may not change (repeatable)."),
    ] = None,
    may_change_evaluation: Annotated[
        bool,
        typer.Option("--may-change-evaluation", help="Allow changes of evaluation code, which the report lists."),
    ] = False,
    with_: With = None,
    cpu: Cpu = None,
    mode: Annotated[
        Literal["agent", "single", "prescribed"] | None,
        typer.Option(help="agent (default); for comparison, one call (single) or a fixed sequence (prescribed)."),
    ] = None,
    no_graph: Annotated[bool, typer.Option("--no-graph", help="Work without the graph's techniques and code.")] = False,
    llm: Annotated[str | None, typer.Option(help="Language model (llm.model, or o4-mini).")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Maximum dollars for this run.")] = None,
    progress: Annotated[
        Literal["text", "json"], typer.Option(help="Format of progress on stderr: text or JSON lines.")
    ] = "text",
    within: Annotated[
        list[str] | None, typer.Option(hidden=True, help="Folders that may contain the starter code; '' allows none.")
    ] = None,
    as_json: Json = False,
    help_all: HelpAll = False,  # noqa: ARG001  # its callback has ended the program
) -> None:
    """Let an agent implement a method in starter code.

    It works on a private copy and runs everything in the sandbox; your repository stays unchanged until `xkg implement
    apply RUN`. The result has a class: A runs without error and beats the starter, B runs without error, C has errors,
    D is empty. The exit code is 0 for A and B. The same command continues an interrupted run."""
    if context.invoked_subcommand is not None:
        return
    from xkg.agents.codification.task import read_task
    from xkg.commands import implement

    settings = settings_of(
        context, llm=present(model=llm, max_cost=max_cost), environment=present(packages=with_ or None, cpu=cpu)
    )
    flags = {
        "method": method,
        "starter": starter,
        "run": run,
        "metric": metric,
        "evaluate": evaluate,
        "script": script,
        "baseline": baseline,
        "pseudocode": None if pseudocode is None else _text(pseudocode),
        "data_description": None if data_description is None else _text(data_description),
        "data": _data(data or ()),
        "related": tuple(related or ()),
        "protect": tuple(protect or ()),
        "may_change_evaluation": may_change_evaluation or None,
        "mode": mode,
        "graph": False if no_graph else None,
    }
    asked = read_task(task, flags)
    roots = None if within is None else [Path(folder) for folder in within if folder]
    with _json_lines() if progress == "json" else _display() as notify:
        result = implement.implement(settings, asked, notify, roots=roots)
    _print(result, as_json)


@implement_app.command("transcript")
def transcript(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="Name of the run, or its first characters.")],
    inspect: Annotated[
        Path | None, typer.Option(help="Write a log for `inspect view` to this file, which ends with .eval or .json.")
    ] = None,
) -> None:
    """Print the steps of a finished or running run as JSON lines, or write an Inspect log."""
    from xkg.commands import implement

    print_text(implement.transcript(settings_of(context), run, inspect), nl=inspect is not None)


@implement_app.command("apply")
def apply(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="Name of the run, or its first characters.")],
    patch: Annotated[Path | None, typer.Option(help="Write a patch to this file instead of a branch.")] = None,
    branch: Annotated[str | None, typer.Option(help="Name of the branch (xkg/RUN).")] = None,
    to: Annotated[Path | None, typer.Option(help="Clone of the starter's repository that gets the branch.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Apply a result even if it was not accepted.")] = False,
    as_json: Json = False,
) -> None:
    """Add the result of a run to your repository as a branch, or write a patch."""
    from xkg.commands import implement

    print_result(implement.apply(settings_of(context), run, patch=patch, branch=branch, to=to, force=force), as_json)


def _print(result: "CodificationResult", as_json: bool) -> None:
    print_notes(result.notes)
    print_result(result, as_json)
    if result.result not in ("A", "B"):
        raise typer.Exit(ERRONEOUS)


def _text(path: Path) -> str:
    from xkg.files import read_regular

    try:
        return read_regular(path, 1 << 20).decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error})") from error


def _data(given: Sequence[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    if wrong := [name for name, equals, place in pairs if not (name and equals and place)]:
        raise InputError(f"--data {wrong[0]!a}: give PATH=FOLDER, as in data=/datasets/cifar")
    return {name: place for name, _, place in pairs}


@contextmanager
def _json_lines() -> Iterator[Callable[[object], None]]:
    """Steps for programs, one JSON object per line: `step` after each step, `calls` after each model call. `dollars` is
    the sum so far, null if a price is unknown."""
    import json

    from xkg.agents.codification.run import StepTaken
    from xkg.llm.client import Call

    calls = 0
    dollars: float | None = 0.0

    def notify(event: object) -> None:
        nonlocal calls, dollars
        fields: dict[str, object] = {"event": "calls"}
        if isinstance(event, StepTaken):
            dollars = event.dollars
            fields = {"event": "step", **event._asdict()}
        elif isinstance(event, Call) and not event.cached:
            calls += 1
        else:
            return
        sys.stderr.write(f"{json.dumps({**fields, 'calls': calls, 'dollars': dollars})}\n")
        sys.stderr.flush()

    yield notify


@contextmanager
def _display() -> Iterator[Callable[[object], None]]:
    """One line per step on stderr: its action, outcome, dollars and metric; on a terminal also model calls."""
    from rich.console import Console
    from rich.status import Status

    from xkg.agents.codification.run import StepTaken
    from xkg.llm.client import Call
    from xkg.sandbox.packages.plan import Installing
    from xkg.text.unicode import printable_line

    console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
    status = Status("the starter is run", console=console) if console.is_terminal else None
    calls = 0

    def notify(event: object) -> None:
        nonlocal calls
        if isinstance(event, StepTaken):
            dollars = "" if event.dollars is None else f"  ${event.dollars:.3f}"
            metric = "" if event.metric is None else f"  metric {event.metric:g}"
            line = f"  {event.number:>3}  {event.action:<24}{printable_line(event.outcome)[:90]}{dollars}{metric}"
            console.print(line)
        elif isinstance(event, Installing):
            if status is not None:
                status.update(printable_line(str(event)))
            elif not event.done_mb:
                console.print(f"  {printable_line(str(event))}")
        elif isinstance(event, Call):
            calls += not event.cached
            if status is not None:
                status.update(f"{calls} calls, the last: {printable_line(event.about)[:60]}")

    if status is None:
        yield notify
        return
    with status:
        yield notify
