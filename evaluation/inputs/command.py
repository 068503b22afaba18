"""Runs a measurement as a command. The positional parameters of the measurement's function become arguments, and its
keyword parameters become options."""

import functools
import inspect
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import StatisticsError
from typing import Annotated, Any, NoReturn, get_args, get_origin

import typer

from xkg.cli.display.wording import for_people
from xkg.errors import XkgError

JsonFile = Annotated[Path | None, typer.Option("--json", help="write the results to this file")]
Earlier = Annotated[Path | None, typer.Option("--against", help="compare with the --json file of an earlier run")]


def run_command(main: Callable[..., int | None]) -> NoReturn:
    """Calls `main` with the values from the command line, and exits with the status that it returns. Exits with status
    1 and a one-line message if `main` raises `XkgError`, a file or server cannot be reached, an input is not JSON, or
    there is too little to measure."""

    @functools.wraps(main)
    def called(**values: Any) -> None:
        raise typer.Exit(main(**values) or 0)

    signature = inspect.signature(main, eval_str=True)
    parameters = [_marked(each) for each in signature.parameters.values()]
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    about = (sys.modules[main.__module__].__doc__ or "").replace("\n\n", "\n\n\b\n")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command(help=f"\b\n{about}")(called)
    try:
        app()
    except XkgError as error:
        sys.exit(for_people(str(error)))
    except json.JSONDecodeError as error:
        sys.exit(f"an input is not JSON ({error}, in {error.doc[:60]!r}); correct it")
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        sys.exit(f"{what}{error.strerror or error}; correct the path or the address, then run this again")
    except StatisticsError as error:
        sys.exit(f"there is too little to measure ({error}); pass a larger graph, or more gold files")
    sys.exit(0)


def _marked(parameter: inspect.Parameter) -> inspect.Parameter:
    kind, option = parameter.annotation, parameter.kind is parameter.KEYWORD_ONLY
    if get_origin(kind) is Sequence:
        kind = list[get_args(kind)[0]]  # type: ignore[misc]
    if get_origin(kind) is not Annotated:
        kind = Annotated[kind, typer.Option() if option else typer.Argument()]
    return parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)
