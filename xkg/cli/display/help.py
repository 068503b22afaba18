"""Shortens the help of commands with many options. `--help` lists the common options, and `--help-all` lists all
options."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

_EVERY = "xkg.every_option"


def _print_every_option(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.meta[_EVERY] = True
        typer.echo(context.get_help())
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", is_eager=True, callback=_print_every_option, help="Show every option and exit."),
]


class FoldedCommand(TyperCommand):
    """Lists only `common` parameters in the `--help` of a command (see `xkg.cli.command`)."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with _folded(self, ctx):
            super().format_help(ctx, formatter)


class FoldedGroup(TyperGroup):
    """Lists only `common` parameters in the `--help` of a command with subcommands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with _folded(self, ctx):
            super().format_help(ctx, formatter)


@contextmanager
def _folded(command: Any, context: Any) -> Iterator[None]:
    common = command.callback.common
    rare = [] if _EVERY in context.meta else [p for p in command.params if p.name not in {*common, "help_all"}]
    shown = [each for each in rare if not each.hidden]
    for each in shown:
        each.hidden = True
    try:
        yield
    finally:
        for each in shown:
            each.hidden = False
