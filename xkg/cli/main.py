"""Defines the `xkg` command. The help lists subcommands in the order of this module. Exit codes: 0 done, 1 failed, 2
usage error, 3 some papers in a list failed.

The commands, defined in the neighbouring modules, are short: each parses arguments, calls one function and prints the
result."""

import inspect
import io
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from xkg.cli import ablate, access, build, curate, query, run, serve, store
from xkg.cli.display.help import FoldedCommand
from xkg.cli.former_names import renamed
from xkg.cli.implement import implement_app
from xkg.cli.mcp.commands import mcp_app
from xkg.errors import InputError, XkgError

INTERRUPTED = 130
_USAGE = 2
_LONGEST_USAGE = 200
_TOO_MUCH = re.compile(r"Got unexpected extra argument\S* \((.*)\)$")
_NO_COMMAND = re.compile(r"No such command '([^']*)'")
_NO_NUMBER = re.compile(r"Input should be a valid integer, unable to parse string as an integer")
_MEANT_AS = {"implement": "--method", "ablate": "--paper"}
"""Options whose values users often pass without the option's name."""

app = typer.Typer(
    pretty_exceptions_enable=False,
    help="Executable knowledge graphs: papers, their techniques and the code that runs them.",
)
_PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Build": (build.build, curate.curate, build.update, build.verify, build.concepts, build.costs),
    "Ask": (query.papers, query.search, query.show, query.locate, serve.explore, query.context, query.cypher),
    "Experiment": (run.run,),
    "Share": (serve.serve, store.push, store.pull, store.export, store.import_, access.key),
    "Keep": (serve.doctor, store.diff, store.remove, curate.check_blacklist),
}
for panel, commands in _PANELS.items():
    for command in commands:
        folded = FoldedCommand if command is build.build else None
        app.command(command.__name__.rstrip("_").replace("_", "-"), rich_help_panel=panel, cls=folded)(command)
_GROUPS = {
    "Experiment": (("implement", implement_app), ("ablate", ablate.ablate_app)),
    "Share": (("mcp", mcp_app), ("trust", access.trust_app), ("token", access.token_app)),
    "Keep": (("store", store.store_app), ("index", store.index_app)),
}
for panel, groups in _GROUPS.items():
    for name, group in groups:
        app.add_typer(group, name=name, rich_help_panel=panel)


def _flow_help(of: typer.Typer) -> None:
    """Joins each paragraph in the commands' help into one line, which Typer then wraps to the terminal's width."""
    commands: list[typer.models.CommandInfo | typer.models.TyperInfo] = [*of.registered_commands]
    if of is not app and of.registered_callback is not None:
        commands.append(of.registered_callback)
    for command in commands:
        paragraphs = inspect.cleandoc(command.help or getattr(command.callback, "__doc__", "") or "").split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for group in of.registered_groups:
        if group.typer_instance is not None:
            _flow_help(group.typer_instance)


_flow_help(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from xkg.version import __version__

        typer.echo(f"xkg {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    context: typer.Context,
    kg: Annotated[
        list[Path] | None,
        typer.Option(
            "--kg",
            readable=False,
            help="Folder of the graph [XKG_KG, or storage/default]; can also follow the command. `serve` accepts "
            "several.",
        ),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001  # its callback has ended the program
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    several = kg or []
    first, more = next(iter(several), None), several[1:]
    if more and context.invoked_subcommand != "serve":
        raise InputError(
            f"`xkg {context.invoked_subcommand}` works on one graph; pass only one --kg (only `serve` accepts several)"
        )
    context.obj = {"kg": first, "more": more, "verbose": verbose}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the `xkg` command. Exits with code 0, or prints one line on stderr and exits with the error's code. `-v`
    adds the traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # the terminal may be unable to encode some characters
    words = _with_global_options_first(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(words or ["--help"], prog_name="xkg", standalone_mode=False)
    except XkgError as error:
        _fail(str(error), error.exit_code, words)
    except typer.TyperException as error:
        _fail(_usage(error), error.exit_code, words)
    except Exception as error:  # print only one line, even for a bug in xkg
        line = " ".join(f"{type(error).__name__}: {error}".split())
        _fail(f"this is a bug in xkg ({line}); run again with -v, and report the traceback", 1, words)
    if code == INTERRUPTED:
        _fail("interrupted; stored data is unchanged, and the next run continues from here", code, words)
    sys.exit(code)


def _with_global_options_first(arguments: Sequence[str]) -> list[str]:
    """Moves `--kg` and `-v` before the command, and replaces former names of commands."""
    words = list(arguments)
    end = words.index("--") if "--" in words else len(words)
    first: list[str] = []
    rest: list[str] = []
    waiting = iter(words[:end])
    for word in waiting:
        if word == "--kg":
            if (value := next(waiting, None)) is None:
                _fail("--kg requires the folder of a graph: --kg FOLDER (see `xkg --help`)", _USAGE, words)
            first += [word, value]
        elif word.startswith("--kg=") or word in ("-v", "--verbose"):
            first.append(word)
        else:
            rest.append(word)
    return [*first, *renamed([*rest, *words[end:]])]


def _fail(message: str, code: int, arguments: Sequence[str]) -> NoReturn:
    from xkg.cli.display.wording import for_people
    from xkg.serve.answers.quoting import visible

    if sys.exc_info()[0] is not None and any(a in ("-v", "--verbose") for a in arguments):
        import traceback

        sys.stderr.write(visible(traceback.format_exc()))
    sys.stderr.write(visible(f"xkg: {for_people(message)}\n"))
    sys.exit(code)


def _usage(error: typer.TyperException) -> str:
    message = " ".join(error.format_message().split()).rstrip(".").replace(": Value error, ", ": ")
    message = _NO_NUMBER.sub("give a whole number", message)
    if len(message) > _LONGEST_USAGE:  # the message repeats the arguments, which are long if the shell expanded a glob
        message = f"{message[:_LONGEST_USAGE]}…"
    context: typer.Context | None = getattr(error, "ctx", None)
    if context is None:
        return f"{message}; `xkg --help` lists the commands"
    option = _MEANT_AS.get(context.info_name or "")
    if option and (word := _NO_COMMAND.match(message)):
        named = f"xkg {context.info_name} {option} {word[1]}"
        return f"{word[1]} is not a command of `{context.command_path}`; pass it with {option}, as in `{named}`"
    if more := _TOO_MUCH.match(message):
        after = ", and --param before each parameter" if context.info_name == "cypher" else ""
        message = f"unexpected argument {more[1]}; put text with several words in quotes{after}"
    usage = " ".join(context.get_usage().split()).replace("Usage:", "usage:")
    return f"{message}; {usage} (see `{context.command_path} --help`)"
