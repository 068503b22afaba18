"""Generates the command reference page."""

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

import typer.main

from scripts.reference.markdown import fenced, page, table
from xkg.cli.main import app


class Command(NamedTuple):
    """A command with its full name. `parameters` lists its parameters, each with its description."""

    name: str
    help: str
    usage: str
    parameters: tuple[tuple[str, str], ...]
    group: bool


def all_commands() -> Iterator[Command]:
    """Yields the program itself, then its commands in help order, with each group before its commands."""
    yield from _commands_of(typer.main.get_command(app), "xkg", None)


def _commands_of(command: Any, name: str, parent: Any) -> Iterator[Command]:
    context = command.context_class(command, info_name=name, parent=parent)
    records = [record for parameter in command.params if (record := parameter.get_help_record(context)) is not None]
    inside = getattr(command, "commands", {})
    yield Command(
        name=context.command_path,
        help=inspect.cleandoc(command.help or ""),
        usage=" ".join([context.command_path, *command.collect_usage_pieces(context)]),
        parameters=tuple((names, " ".join(text.split())) for names, text in records),
        group=bool(inside),
    )
    for child, below in inside.items():
        yield from _commands_of(below, child, context)


def commands() -> str:
    parts = []
    for command in all_commands():
        parts.append(f"## {command.name}")
        parts.append(command.help)
        if not command.group or command.name == "xkg":
            parts.append(fenced(command.usage, "text"))
        if command.parameters:
            parts.append(
                table(("parameter", "description"), ((f"`{names}`", text) for names, text in command.parameters))
            )
    ends = (
        "Every command accepts `--help`. The exit codes are 0 for success; 1 for an error, with one line on stderr "
        "that says what happened and what to do (`-v` adds the traceback); and 2 for a usage error."
    )
    return page("Commands", "xkg/cli", [ends, *parts])
