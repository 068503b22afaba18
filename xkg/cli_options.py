"""What commands share of their options, and the settings that follow from them."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:  # a command imports what it needs, so that `xkg serve` answers at once
    from xkg.config import Settings

Json = Annotated[bool, typer.Option("--json", help="Print JSON; README.md lists the fields.")]
Papers = Annotated[list[str] | None, typer.Argument(help="Paper ids; none means all.")]


def settings_of(context: typer.Context, **flags: object) -> "Settings":
    from xkg.config import load

    return load(kg=context.obj["kg"], **flags)


def given(**values: object) -> dict[str, object] | None:
    """Those that are not None, or None without any."""
    return {name: value for name, value in values.items() if value is not None} or None
