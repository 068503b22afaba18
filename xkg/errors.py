"""Exceptions raised by xkg."""

from collections.abc import Sequence
from typing import get_args


class XkgError(Exception):
    """An error with a one-line message that tells the user what happened and what to do. The command line prints the
    message and exits with `exit_code`."""

    exit_code = 1


class InputError(XkgError):
    """The input (a paper, repository, archive or graph file) cannot be used."""


def require_choice(value: str, choices: object, name: str) -> None:
    """Raises `InputError` if the value is not one of the `Literal` type `choices`."""
    if value not in get_args(choices):
        raise InputError(f"{name} cannot be {value!a}; choose from {', '.join(get_args(choices))}")


class UnsafeInputError(InputError):
    """The input refers to files outside its folder, or is larger than any real input."""


class UnreachableError(InputError):
    """The server that provides the input failed, perhaps temporarily."""


class SomeFailedError(XkgError):
    """Some papers failed; the others succeeded."""

    exit_code = 3


class UnknownIdError(XkgError):
    """The graph does not contain the requested paper, technique or code. `nearest` lists the most similar
    references."""

    def __init__(self, message: str, nearest: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.nearest = tuple(nearest)


class AmbiguousIdError(UnknownIdError):
    """Several papers or techniques match this reference. `nearest` lists some of the matches."""


class StoreError(XkgError):
    """The stored graph cannot be read or written."""


class EmptyGraphError(StoreError):
    """The graph is empty: nothing has been built or imported yet."""


class StoreBusyError(StoreError):
    """Another process is already writing to the graph."""


class LeaseHeldError(StoreBusyError):
    """Another machine is building the same paper."""


class LeaseLostError(StoreBusyError):
    """The lease on a paper expired during its build, and another machine took it over."""


class StoreUnreachableError(StoreError):
    """The graph's server does not respond, or rejects the login."""


class SchemaVersionError(StoreError):
    """The graph's schema is from a different version of xkg."""


class CorruptStoreError(StoreError):
    """A stored file is damaged."""


class ModelMismatchError(StoreError):
    """The indexes were built with a different embedding model."""


class QueryRefusedError(XkgError):
    """The guard refused a Cypher statement."""


class QueryFailedError(XkgError):
    """A Cypher statement failed or exceeded its limits."""


class SandboxUnavailableError(XkgError):
    """This machine has no sandbox that can contain untrusted code."""


class BaselineError(XkgError):
    """The experiment to ablate does not run in its original form."""


class MetricError(XkgError):
    """A run's metric is missing or is not a finite number."""


class PackagesError(XkgError):
    """The packages that code needs could not be installed."""


def install_extra(extra: str) -> str:
    """Returns a hint on how to install an extra from a clone. xkg is not on a package index, so any project of that
    name there is unrelated."""
    return f"run `pip install '.[{extra}]'` in a clone of xkg"


class MissingExtraError(XkgError):
    """The requested feature needs packages that are not installed."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs packages that are not installed; {install_extra(extra)}")


class EmbeddingError(XkgError):
    """The embedding model's weights are missing, or its provider does not answer."""


class LanguageModelError(XkgError):
    """The language model did not return a usable answer."""


class AnswerError(LanguageModelError):
    """The language model returned no usable answer after all attempts, so the subject of the question is omitted."""


class ModelUnavailableError(LanguageModelError):
    """The language model cannot be called because the key is missing, the endpoint is down, the model is unknown, or
    the quota is exhausted."""


class MissingKeyError(ModelUnavailableError):
    """The provider of the language model requires a key."""


class BudgetError(LanguageModelError):
    """The spending limit has been reached."""


class ConfigError(XkgError):
    """A setting is invalid."""

    exit_code = 2
