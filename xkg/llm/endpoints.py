"""Chooses the endpoint for each model in the settings: a server, a local program, or the caller."""

from pathlib import Path

from xkg.clock import Clock
from xkg.config import LlmSettings
from xkg.llm.caller import CALLER, CallerEndpoint
from xkg.llm.chat_completions import ChatCompletions
from xkg.llm.credentials import access
from xkg.llm.endpoint import Endpoint
from xkg.llm.prices import models_of
from xkg.llm.programs.known import program_of
from xkg.llm.programs.program_endpoint import ProgramEndpoint


def uses_server(settings: LlmSettings) -> bool:
    """Returns whether any model is on a server, which may require a key."""
    models = models_of(settings) - {"none", CALLER}
    return any(program_of(model) is None for model in models)


def reports_dollars(model: str) -> bool:
    """Returns whether the model's answers report their cost, so that a dollar limit works even if the price is
    unknown."""
    known = program_of(model)
    return model == CALLER or (known is not None and known[0].reports_dollars)


def endpoints(
    settings: LlmSettings, folder: Path, without_key: str, patience: float, clock: Clock
) -> dict[str, Endpoint]:
    """Returns the endpoint for each model. `folder` is the graph's folder, and `without_key` tells the user what to do
    without a key. Raises `ModelUnavailableError` if a program is not installed or a server's key is missing, and
    `ConfigError` if a setting is invalid."""
    server: ChatCompletions | None = None
    found: dict[str, Endpoint] = {}
    for model in models_of(settings):
        known = program_of(model)
        if model == CALLER:
            found[model] = CallerEndpoint(folder, clock=clock)
        elif known is not None:
            found[model] = ProgramEndpoint(*known, seconds=settings.seconds)
        else:
            server = server or ChatCompletions(
                access(settings, without_key),
                seconds=settings.seconds,
                patience=patience,
                clock=clock,
                parameters=settings.parameters,
                headers=settings.headers,
            )
            found[model] = server
    return found
