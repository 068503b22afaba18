"""`xkg ablate`: measures which parts of a method matter, by experiments in its own repository."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from xkg.cli.display.help import FoldedGroup, HelpAll
from xkg.cli.display.output import (
    Address,
    AllowPublic,
    Cpu,
    Engine,
    Json,
    Paper,
    With,
    in_commands,
    present,
    print_result,
    print_text,
    settings_of,
)
from xkg.errors import InputError

_MOST_OFFERED = 5


class AblateCommand(FoldedGroup):
    common = frozenset({"repo", "run", "metric", "paper", "data", "budget", "seconds", "llm", "yes", "as_json"})


ablate_app = typer.Typer(cls=AblateCommand, invoke_without_command=True, no_args_is_help=True)


@ablate_app.callback()
def ablate(
    context: typer.Context,
    task: Annotated[Path | None, typer.Option("--task", help="Task file (ablate.yaml); flags override it.")] = None,
    repo: Annotated[str | None, typer.Option(help="Repository: folder, folder@commit or https URL.")] = None,
    run: Annotated[str | None, typer.Option(help="Command that trains and evaluates; {seed} takes each seed.")] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="results.json:test_mse:min, log.csv:loss:min or a pattern; the first is primary."),
    ] = None,
    paper: Annotated[str | None, typer.Option(help="Paper of the graph whose techniques are the components.")] = None,
    setup: Annotated[str | None, typer.Option(help="Command that runs before --run, in the same sandbox.")] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="Host that --setup may reach, such as data.example.org; --setup then runs once (repeatable)."
        ),
    ] = None,
    with_: With = None,
    cpu: Cpu = None,
    evaluate: Annotated[
        str | None, typer.Option(help="Command that measures the output of --run in a separate sandbox.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="PATH=FOLDER: mount this folder read-only at PATH (repeatable).")
    ] = None,
    claimed: Annotated[float | None, typer.Option(help="Value of the primary metric in the paper.")] = None,
    tolerance: Annotated[float | None, typer.Option(help="Relative tolerance of --claimed (0.05).")] = None,
    seed: Annotated[list[int] | None, typer.Option(help="Seed of a baseline run (repeatable; 0, 1, 2).")] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Maximum number of candidates (25).")] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Only components with this in their name (repeatable).")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Wall seconds of one run (600).")] = None,
    memory_mb: Annotated[int | None, typer.Option(help="Memory of one run (4096).")] = None,
    disk_mb: Annotated[int | None, typer.Option(help="Scratch disk of one run (1024).")] = None,
    device: Annotated[
        list[str] | None, typer.Option(help="nvidia:0, or nvidia for every GPU; a run gets one (repeatable).")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Parallel runs: 1, or with --engine ray as many as the nodes offer.")
    ] = None,
    engine: Engine = "local",
    address: Address = None,
    allow_public: AllowPublic = False,
    llm: Annotated[
        str | None,
        typer.Option(help="Language model that plans, repairs, writes and judges (llm.model); none: without a model."),
    ] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Maximum dollars for this run.")] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Without --run: take the first command from README and scripts.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the run (default: inside the graph's folder).")] = None,
    as_json: Json = False,
    help_all: HelpAll = False,  # noqa: ARG001  # its callback has ended the program
) -> None:
    """Reproduce an experiment, then measure how much each component matters.

    Every run happens in the sandbox, on a copy of the repository, without network. --setup runs before each run; with
    --allow-host it runs once and may reach these hosts. The same command continues a run that was stopped. Without a
    model, give --metric; --run is offered from README and scripts if it is missing, and candidates come from the code
    alone. A model (--llm, or llm.model in the settings) chooses the command, repairs failures, writes candidates and
    words the report."""
    if context.invoked_subcommand is not None:
        return
    from xkg.agents.ablation.task import read_task
    from xkg.commands import ablate as command
    from xkg.commands.engines import engine_for

    flags: dict[str, object] = {
        "repo": repo,
        "run": run,
        "metrics": metric or None,
        "paper": paper,
        "setup": setup,
        "allow_hosts": allow_host or None,
        "evaluate": evaluate,
        "data": _mounts(data) if data else None,
        "claimed": claimed,
        "tolerance": tolerance,
        "seeds": seed or None,
        "budget": budget,
        "only": only or None,
        "seconds": seconds,
        "memory_mb": memory_mb,
        "disk_mb": disk_mb,
        "devices": device or None,
    }
    settings = settings_of(
        context, llm=present(model=llm, max_cost=max_cost), environment=present(packages=with_ or None, cpu=cpu)
    )
    if max_cost is not None and not command.has_model(settings):
        raise InputError("--max-cost bounds what a language model costs: name one with --llm")
    planned = command.has_model(settings)
    wanted = read_task(task, flags, planned=planned, offered=not planned)
    if not (planned or wanted.run):
        wanted = wanted.model_copy(update={"run": _chosen(command.stated(settings, wanted), yes)})
    with engine_for(engine, jobs, address, allow_public=allow_public) as opened:
        cluster = None if engine == "local" else opened
        notify = partial(print_text, err=True)
        result = command.ablate(settings, wanted, out, jobs or 1, notify, cluster)
    print_result(result, as_json)


@ablate_app.command("plan")
def plan(
    context: typer.Context,
    paper: Paper,
    repo: Annotated[Path | None, typer.Option(help="Folder of a repository, with or without changes.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=20, help="Maximum number of ablations.")] = 5,
    llm: Annotated[str | None, typer.Option(help="Name of the language model, or none for the graph alone.")] = None,
    as_json: Json = False,
) -> None:
    """Plan ablations of a paper: what to remove, replace or add, why, how to measure it, and which lines to edit."""
    from xkg.agents.planning.ablations import plan_ablations
    from xkg.cli.display.layout import width, wrapped
    from xkg.commands.graph.open import open_service

    with open_service(settings_of(context, llm=present(model=llm))) as service:
        planned = plan_ablations(service, paper, k, repo)
    if as_json:
        print_result(planned, as_json)
    else:
        print_text(wrapped(str(in_commands(planned)), width()))


@ablate_app.command("report")
def report(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="Name or folder of a run.")],
    as_json: Json = False,
) -> None:
    """Rewrite the report of a finished run."""
    from xkg.commands import ablate as command

    print_result(command.report(settings_of(context), run), as_json)


@ablate_app.command("apply")
def apply(
    context: typer.Context,
    run: Annotated[str, typer.Argument(help="Name or folder of a run.")],
    candidate: Annotated[str, typer.Argument(help="Id of a candidate in the report, or `baseline` for its repairs.")],
    to: Annotated[Path | None, typer.Option(help="Repository to add the branch to, if not the original.")] = None,
    patch: Annotated[bool, typer.Option("--patch", help="Print a patch; add no branch.")] = False,
) -> None:
    """Add one candidate's change to the repository as a branch."""
    from xkg.commands import ablate as command

    settings = settings_of(context)
    if not patch:
        print_text(command.apply(settings, run, candidate, to))
    elif sys.stdout.isatty():
        print_text(command.patch(settings, run, candidate).decode("utf-8", "replace"), nl=False)
    else:
        typer.echo(command.patch(settings, run, candidate), nl=False)


def _chosen(commands: Sequence[str], yes: bool) -> str:
    """The first command, if the user agrees to it."""
    if not commands:
        raise InputError(
            "no run is given, and no command of README or scripts starts a file of the repository: name it with --run, "
            "or let a model find it with --llm"
        )
    first, *others = (f"`{command}`" for command in commands)
    more = f" ({len(others)} other{'s' * (len(others) > 1)}: {', '.join(others[:_MOST_OFFERED])})" if others else ""
    if yes:
        print_text(f"run {first}{more}", err=True)
    elif not sys.stdin.isatty():
        raise InputError(f"no run is given; README and scripts have {first}{more}: take it with --yes, or give --run")
    else:
        print_text(f"run {first}?{more}", err=True)
        if not typer.confirm("Run it", default=True, err=True):
            raise InputError("no command was taken: give one with --run")
    return commands[0]


def _mounts(data: list[str]) -> dict[str, Path]:
    mounts = {}
    for text in data:
        name, equals, place = text.partition("=")
        if not equals or not name or not place:
            raise InputError(f"--data {text!a}: give PATH=FOLDER, as in data=/datasets/cifar")
        mounts[name] = Path(place)
    return mounts
