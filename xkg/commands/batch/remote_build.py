"""Provides services on the graph's machine for builds on other machines: claims, the ledger of model calls, and the
outbox."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

from xkg.build.paper.document import Document
from xkg.commands.claims import Claims
from xkg.commands.graph.open import BUILD_WITHOUT_KEY, outbox_when_unreachable
from xkg.commands.published import BuildResult, OwnGraph
from xkg.config import Settings
from xkg.engine.engine import Home
from xkg.errors import StoreUnreachableError
from xkg.llm.client import LanguageModel
from xkg.llm.ledger import Ledger
from xkg.llm.prices import Prices
from xkg.model import PaperBundle


class Outbox:
    """Stores papers on the graph's machine while their server is unreachable."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def keep(self, bundle: PaperBundle, reason: str) -> None:
        """Stores a paper. Raises `StoreUnreachableError`, whose message says where the paper is stored."""
        with outbox_when_unreachable(self._settings, [bundle]):
            raise StoreUnreachableError(reason)


class NodeGraph(OwnGraph):
    """A graph on Neo4j to which this machine connects directly. If the server is unreachable, the graph's machine
    stores the papers."""

    def __init__(self, settings: Settings, home: Home) -> None:
        super().__init__(settings)
        self._home = home

    @contextmanager
    def _unreachable(self, bundle: PaperBundle) -> Iterator[None]:
        try:
            yield
        except StoreUnreachableError as error:
            self._home.call("graph", "keep", bundle, str(error))


class GraphAtHome:
    """A graph in a folder on the graph's machine (`BuildGraph`)."""

    def __init__(self, settings: Settings, home: Home) -> None:
        self._settings, self._home = settings, home

    def require_writable(self) -> None:
        self._home.call("graph", "require_writable")

    def claims(self) -> Claims:
        return _ClaimsAtHome(self._settings, self._home)

    def stored(self, paper: str, note: str) -> BuildResult:
        result: BuildResult = self._home.call("graph", "stored", paper, note)
        return result


class _ClaimsAtHome(Claims):
    """Asks the graph's machine for the id under which to build a paper. A graph in a folder has no leases."""

    def __init__(self, settings: Settings, home: Home) -> None:
        super().__init__(settings)
        self._home = home

    def claim(self, document: Document, identity: str, *, chosen: bool) -> str:
        if chosen:  # an id that the user chose never changes
            return identity
        kept = ("title", "authors", "arxiv_id", "arxiv_version", "format")
        head = type(document)(text="", abstract="", **{name: getattr(document, name) for name in kept})
        claimed: tuple[str, tuple[str, ...]] = self._home.call("graph", "claimed", head, identity, chosen)
        self.notes.extend(claimed[1])
        return claimed[0]


def open_ledger(settings: Settings) -> Ledger:
    return Ledger(settings.kg, Prices(settings.llm.prices))


def language_model_elsewhere(settings: Settings, notify: Callable[[object], None], home: Home) -> LanguageModel:
    """Opens a model with this machine's key. The graph's machine counts, bills and stores the calls."""
    return LanguageModel(
        settings.llm,
        settings.kg,
        notify,
        ledger=cast(Ledger, _LedgerAtHome(home)),
        turn=partial(home.turn, "model"),
        # Papers in one list share questions, so two machines may reach the same question at the same moment.
        once=lambda key: home.paced(f"question {key.hex()}", 0.0),
        without_key=BUILD_WITHOUT_KEY,
    )


class _LedgerAtHome:
    """Forwards calls to the graph's `Ledger` to the graph's machine."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(self._home.call, "ledger", method)

    def close(self) -> None:
        """Does nothing, because other builds still use the ledger."""
