"""Shortens the help of commands with many options: `--help` lists the common ones, `--help-all` lists all."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar

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
    """A command whose `--help` lists only the parameters named in `common`."""

    common: ClassVar[frozenset[str]]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with _folded(self.params, self.common, ctx):
            super().format_help(ctx, formatter)


class FoldedGroup(TyperGroup):
    """The same for a command that has subcommands."""

    common: ClassVar[frozenset[str]]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with _folded(self.params, self.common, ctx):
            super().format_help(ctx, formatter)


@contextmanager
def _folded(parameters: list[Any], common: frozenset[str], context: Any) -> Iterator[None]:
    rare = [each for each in parameters if each.name not in {*common, "help_all"}]
    before = [each.hidden for each in rare]
    for each in rare:
        each.hidden = _EVERY not in context.meta
    try:
        yield
    finally:
        for each, hidden in zip(rare, before, strict=True):
            each.hidden = hidden
