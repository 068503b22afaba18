"""What can go wrong, as a tree of exceptions."""

from collections.abc import Sequence


class XkgError(Exception):
    """An error for a person: one line that says what happened and what to do. The command line prints it and exits with
    `exit_code`."""

    exit_code = 1


class InputError(XkgError):
    """The input (paper, repository, archive, graph file) cannot be used."""


class UnsafeInputError(InputError):
    """The input reaches outside its folder, or is larger than any honest input."""


class UnreachableError(InputError):
    """A server that has the input failed in a way that may be temporary."""


class UnknownIdError(XkgError):
    """No such paper, technique or code in this graph; `nearest` are the references that are most like it."""

    def __init__(self, message: str, nearest: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.nearest = tuple(nearest)


class AmbiguousIdError(UnknownIdError):
    """Several papers or techniques go by this reference; `nearest` are some of them."""


class StoreError(XkgError):
    """The stored graph cannot be read or written as it is."""


class EmptyGraphError(StoreError):
    """Nothing was built or imported yet."""


class StoreBusyError(StoreError):
    """Another process is writing to it."""


class LeaseHeldError(StoreBusyError):
    """Another machine is building the same paper."""


class LeaseLostError(StoreBusyError):
    """The lease on a paper ran out while it was built, and another machine took it."""


class StoreUnreachableError(StoreError):
    """The server that holds it does not answer, or does not let us in."""


class SchemaVersionError(StoreError):
    """It has the schema of another version of xkg."""


class CorruptStoreError(StoreError):
    """A stored file is not what was written."""


class ModelMismatchError(StoreError):
    """The indexes were made by another embedding model."""


class QueryRefusedError(XkgError):
    """A Cypher statement that the guard does not let through."""


class QueryFailedError(XkgError):
    """A Cypher statement that the engine could not run, or that ran over its limits."""


class SandboxUnavailableError(XkgError):
    """Nothing here can contain untrusted code."""


class BaselineError(XkgError):
    """The experiment that is to be ablated does not run as it is."""


class MetricError(XkgError):
    """The metric of a run cannot be read."""


class MissingMetricError(MetricError):
    """The run left no value of it."""


class NotANumberError(MetricError):
    """Its value is no finite number."""


class PackagesError(XkgError):
    """The packages that code needs could not be installed."""


def install_extra(extra: str) -> str:
    """How an extra is installed: from a clone, since xkg is on no package index, where its name may be another's."""
    return f"pip install '.[{extra}]' in a clone of xkg"


class MissingExtraError(XkgError):
    """What was asked for needs packages that are not installed."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs packages that are not installed: {install_extra(extra)}")


class EmbeddingError(XkgError):
    """No weights, or the provider does not answer."""


class LanguageModelError(XkgError):
    """The language model gave nothing that can be used."""


class AnswerError(LanguageModelError):
    """It gave no usable answer to one question, after every attempt; the subject of the question is left out."""


class ModelUnavailableError(LanguageModelError):
    """It cannot be asked at all: no key, endpoint down, unknown model, quota."""


class MissingKeyError(ModelUnavailableError):
    """The provider of the language model takes no question without a key."""


class BudgetError(LanguageModelError):
    """The allowed dollars are spent."""


class ConfigError(XkgError):
    """A setting that cannot be used."""

    exit_code = 2
