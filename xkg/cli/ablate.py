"""Implements `xkg ablate`, which uses a method's repository to measure which of its parts matter."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xkg.agents.ablation.fields import AllFields
from xkg.cli.command import PACKAGES, command
from xkg.cli.display.help import FoldedGroup
from xkg.cli.display.output import Paper, print_text
from xkg.commands.engines import EngineFields, engine_of
from xkg.errors import InputError

if TYPE_CHECKING:
    from xkg.agents.planning.plan import AblationPlan
    from xkg.commands.ablate import AblateResult
    from xkg.config import Settings
    from xkg.serve.service import Service

_MOST_OFFERED = 5

ablate_app = typer.Typer(cls=FoldedGroup, invoke_without_command=True, no_args_is_help=True)
Run = Annotated[str, typer.Argument(help="Name or folder of the run.")]


@ablate_app.callback()
@command(
    common=("repo", "run", "metrics", "paper", "data", "budget", "seconds", "llm", "yes", "as_json"),
    llm="Language model that plans, repairs, writes and judges (default: llm.model), or 'none'.",
    max_cost="Maximum cost of this run in dollars.",
    **PACKAGES,
)
def ablate(
    settings: "Settings",
    *,
    fields: AllFields,
    task: Annotated[Path | None, typer.Option("--task", help="Task file (ablate.yaml); options override it.")] = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="If --run is missing, use the first command in the README or scripts."),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the run (default: inside the graph's folder).")] = None,
    where: EngineFields,
) -> "AblateResult":
    """Reproduce an experiment, then measure how much each component matters.

    Every run happens in the sandbox, on a copy of the repository, without network access. The --setup command is
    executed before each run. With --allow-host, it is executed only once and can reach the hosts you list. To resume an
    interrupted run, repeat the command. Without a model, --metric is required, and candidates are derived only from the
    code. If --run is missing, xkg suggests commands from the README and scripts. A model (--llm, or llm.model in the
    settings) chooses the command, repairs failures, and writes the candidates and the report."""
    from xkg.agents.ablation.task import read_task
    from xkg.commands import ablate

    planned = ablate.has_model(settings)
    wanted = read_task(task, fields, planned=planned, offered=not planned)
    if not (planned or wanted.run):
        wanted = wanted.model_copy(update={"run": _chosen(ablate.stated(settings, wanted), yes)})
    with engine_of(where) as engine:
        cluster = None if where.get("engine", "local") == "local" else engine
        return ablate.ablate(settings, wanted, out, engine.jobs, partial(print_text, err=True), cluster)


@ablate_app.command("plan")
@command(llm="Name of the language model, or none to plan from the graph alone.")
def plan(
    service: "Service",
    paper: Paper,
    repo: Annotated[
        Path | None, typer.Option(help="Folder with a clone of a repository, with or without local changes.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=20, help="Maximum number of ablations.")] = 5,
) -> "AblationPlan":
    """Plan ablations of a paper: what to remove, replace or add, why, how to measure it, and which lines to edit."""
    from xkg.agents.planning.ablations import plan_ablations

    return plan_ablations(service, paper, k, repo)


@ablate_app.command("report")
@command()
def report(settings: "Settings", run: Run) -> "AblateResult":
    """Rewrite the report of a finished run."""
    from xkg.commands import ablate

    return ablate.report(settings, run)


@ablate_app.command("apply")
@command()
def apply(
    settings: "Settings",
    run: Run,
    candidate: Annotated[
        str, typer.Argument(help="Id of a candidate from the report, or `baseline` for the baseline's repairs.")
    ],
    to: Annotated[
        Path | None, typer.Option(help="Repository to add the branch to, if not the original repository.")
    ] = None,
    patch: Annotated[bool, typer.Option("--patch", help="Print a patch instead of adding a branch.")] = False,
) -> None:
    """Add one candidate's change to the repository as a branch."""
    from xkg.commands import ablate

    if not patch:
        print_text(ablate.apply(settings, run, candidate, to))
    elif sys.stdout.isatty():
        print_text(ablate.patch(settings, run, candidate).decode("utf-8", "replace"), nl=False)
    else:
        typer.echo(ablate.patch(settings, run, candidate), nl=False)


def _chosen(commands: Sequence[str], yes: bool) -> str:
    """Returns the first command if the user agrees. Raises `InputError` otherwise."""
    if not commands:
        raise InputError(
            "no command was given, and no command in the README or scripts runs a file in the repository; pass a "
            "command with --run, or let a model find it with --llm"
        )
    first, *others = (f"`{command}`" for command in commands)
    more = f" ({len(others)} other{'s' * (len(others) > 1)}: {', '.join(others[:_MOST_OFFERED])})" if others else ""
    if yes:
        print_text(f"run {first}{more}", err=True)
    elif not sys.stdin.isatty():
        raise InputError(
            f"no command was given; the README and scripts contain {first}{more}; accept it with --yes, or pass --run"
        )
    else:
        print_text(f"run {first}?{more}", err=True)
        if not typer.confirm("Run it", default=True, err=True):
            raise InputError("no command was selected; pass one with --run")
    return commands[0]
