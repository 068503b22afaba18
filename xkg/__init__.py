"""xkg: executable knowledge graphs of papers, their techniques and the code that implements them.

    import xkg

    with xkg.open("storage/default") as kg:
        answer = kg.search("median heuristic")

Modules are loaded on first use, so that commands start quickly."""

from importlib import import_module
from typing import TYPE_CHECKING

from xkg.version import __version__ as __version__

if TYPE_CHECKING:
    from xkg.api import KnowledgeGraph as KnowledgeGraph
    from xkg.api import open as open
    from xkg.async_api import AsyncKnowledgeGraph as AsyncKnowledgeGraph
    from xkg.async_api import open_async as open_async
    from xkg.errors import AmbiguousIdError as AmbiguousIdError
    from xkg.errors import AnswerError as AnswerError
    from xkg.errors import BudgetError as BudgetError
    from xkg.errors import ConfigError as ConfigError
    from xkg.errors import CorruptStoreError as CorruptStoreError
    from xkg.errors import EmbeddingError as EmbeddingError
    from xkg.errors import InputError as InputError
    from xkg.errors import LanguageModelError as LanguageModelError
    from xkg.errors import ModelMismatchError as ModelMismatchError
    from xkg.errors import ModelUnavailableError as ModelUnavailableError
    from xkg.errors import PackagesError as PackagesError
    from xkg.errors import QueryFailedError as QueryFailedError
    from xkg.errors import QueryRefusedError as QueryRefusedError
    from xkg.errors import SandboxUnavailableError as SandboxUnavailableError
    from xkg.errors import SchemaVersionError as SchemaVersionError
    from xkg.errors import StoreBusyError as StoreBusyError
    from xkg.errors import StoreError as StoreError
    from xkg.errors import StoreUnreachableError as StoreUnreachableError
    from xkg.errors import UnknownIdError as UnknownIdError
    from xkg.errors import UnsafeInputError as UnsafeInputError
    from xkg.errors import XkgError as XkgError
    from xkg.model import Level as Level

_HOMES = {
    "KnowledgeGraph": "xkg.api",
    "open": "xkg.api",
    "AsyncKnowledgeGraph": "xkg.async_api",
    "open_async": "xkg.async_api",
    "Level": "xkg.model",
}


if not TYPE_CHECKING:  # type checkers must still report names that are not listed above

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name, "xkg.errors" if name.endswith("Error") else None)
        value = None if home is None else getattr(import_module(home), name, None)
        if value is None:
            raise AttributeError(f"module 'xkg' has no attribute {name!r}")
        return value

    def __dir__() -> list[str]:
        from xkg import errors

        return sorted({*globals(), *_HOMES, *(name for name in vars(errors) if name.endswith("Error"))})
