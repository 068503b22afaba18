"""Turns a function into a command: adds its options, loads the settings or opens the graph, and prints its result.

    @command(llm="Language model (default: llm.model, or o4-mini).")
    def concepts(settings: "Settings") -> "LinkResult":

The parameter `settings` receives the effective settings, including overrides from the options passed to the decorator.
The parameter `service` receives the graph. If a parameter is a typed dictionary, each field with an `Option` becomes an
option. Results other than text can be printed as JSON."""

import functools
import inspect
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xkg.cli.display.help import HelpAll
from xkg.cli.display.output import Json, print_answer, print_result, print_text
from xkg.errors import InputError
from xkg.option import Option

if TYPE_CHECKING:
    from xkg.config import Settings

STATIC = "Language model (default: llm.model, or o4-mini); 'none' uses static analysis and needs no key."
PER_PAPER = "Maximum cost per paper in dollars, including earlier builds."
PACKAGES: Mapping[str, str] = {
    "packages": "Additional package to install, e.g. h5py or 'numpy<2' (repeatable).",
    "cpu": "Run CUDA code on the CPU.",
}
"""Options for commands that run code."""

_SETTINGS: Mapping[str, tuple[str, str, Any]] = {
    "llm": ("llm.model", "--llm", str),
    "max_cost": ("llm.max_cost", "--max-cost", float),
    "max_total_cost": ("llm.max_total_cost", "--max-total-cost", float),
    "packages": ("environment.packages", "--with", list[str]),
    "cpu": ("environment.cpu", "--cpu", bool),
    "allow_build": ("serve.build.allowed", "--allow-build", bool),
    "allow_agents": ("serve.agents.allowed", "--allow-agents", bool),
    "allow_run": ("serve.run.allowed", "--allow-run", bool),
}
"""Maps each option to the setting that it overrides, its name and its type."""


def command(*, common: Collection[str] = (), **settings: str) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Turns a function into a command. `settings` maps options that override settings to their help texts. If `common`
    is not empty, `--help` shows only the parameters in it."""

    def made(function: Callable[..., Any]) -> Callable[..., None]:
        own = inspect.signature(function)
        parameters: dict[str, tuple[Any, Any]] = {"context": (typer.Context, inspect.Parameter.empty)}
        for name, given in own.parameters.items():
            if typing.is_typeddict(given.annotation):
                parameters |= {field: (_annotation(*each), None) for field, each in _options(given.annotation).items()}
            elif name not in ("settings", "service"):
                parameters[name] = (given.annotation, given.default)
        for name, text in settings.items():
            _, option, kind = _SETTINGS[name]
            parameters[name] = (_annotation(option, text, kind), None)
        if own.return_annotation not in (None, str):
            parameters["as_json"] = (Json, False)
        if common:
            parameters["help_all"] = (HelpAll, False)

        @functools.wraps(function)
        def run(context: typer.Context, **values: Any) -> None:
            if context.invoked_subcommand is None:
                _run(function, context, values, settings)

        signature = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, (kind, default) in parameters.items()
        ]
        run.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
        run.__annotations__ = {name: kind for name, (kind, _) in parameters.items()}
        run.common = frozenset(common)  # type: ignore[attr-defined]
        return run

    return made


def settings_of(context: typer.Context, options: Mapping[str, Any]) -> "Settings":
    """Returns the effective settings, in which the options override all other sources. Raises `ConfigError` if a
    setting is invalid."""
    from xkg.config import load

    sections: dict[str, Any] = {"serve": {"graphs": context.obj["more"]}} if context.obj["more"] else {}
    for name, value in options.items():
        if value not in (None, []):
            *folders, last = _SETTINGS[name][0].split(".")
            section = sections
            for folder in folders:
                section = section.setdefault(folder, {})
            section[last] = value
    return load(kg=context.obj["kg"], **sections)


def _run(
    function: Callable[..., Any], context: typer.Context, values: Mapping[str, Any], overriding: Collection[str]
) -> None:
    parameters = inspect.signature(function).parameters
    as_json = values.get("as_json", False)
    wanted = {
        name: values[name] if name in values else _given(parameter.annotation, values)
        for name, parameter in parameters.items()
        if name not in ("settings", "service")
    }
    if "service" in parameters:
        from xkg.commands.graph.open import open_service

        with open_service(settings_of(context, {name: values[name] for name in overriding})) as service:
            if (answer := function(service=service, **wanted)) is not None:
                print_answer(answer, as_json, service)
        return
    if "settings" in parameters:
        wanted["settings"] = settings_of(context, {name: values[name] for name in overriding})
    result = function(**wanted)
    if isinstance(result, str):
        print_text(result)
    elif result is not None:
        print_result(result, as_json)


@functools.cache
def _options(fields: type) -> dict[str, tuple[str, str, Any]]:
    """Returns the option, help text and type of each field that has an `Option`."""
    found = {}
    for name, hint in typing.get_type_hints(fields, include_extras=True).items():
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Option):
                option = mark.name or f"--{name.replace('_', '-')}"
                found[name] = (option, mark.help, typing.get_args(hint)[0])
    return found


def _annotation(option: str, text: str, kind: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin is Mapping:
        return Annotated[list[str] | None, typer.Option(option, help=text, metavar="PATH=FOLDER")]
    if origin is Sequence:
        kind = list[typing.get_args(kind)[0]]  # type: ignore[misc]
    return Annotated[kind | None, typer.Option(option, help=text)]


def _given(fields: type, values: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, (option, _, kind) in _options(fields).items():
        value = values[name]
        if value in (None, []):
            continue
        if typing.get_origin(kind) is Mapping:
            value = _folders(option, value)
        given[name] = not value if option.startswith("--no-") else value
    return given


def _folders(option: str, pairs: Sequence[str]) -> dict[str, Path]:
    folders = {}
    for pair in pairs:
        name, equals, folder = pair.partition("=")
        if not (name and equals and folder):
            raise InputError(f"{option} {pair!a}: write PATH=FOLDER, as in data=/datasets/cifar")
        folders[name] = Path(folder)
    return folders
