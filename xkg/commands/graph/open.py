"""Opens the configured store, embedder, service, sandbox and language model."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from xkg.clock import CLOCK, Clock
from xkg.config import Settings
from xkg.errors import (
    AmbiguousIdError,
    CorruptStoreError,
    SandboxUnavailableError,
    StoreError,
    StoreUnreachableError,
    UnknownIdError,
)
from xkg.files import private_folder

if TYPE_CHECKING:  # functions import heavy modules when they need them
    from xkg.build.curation.blacklist_guard import BlacklistGuard
    from xkg.build.parsing.parsers import Parsers
    from xkg.build.sources.paper_source import Source
    from xkg.embeddings.base import Embedder
    from xkg.embeddings.cache import CachedEmbedder
    from xkg.llm.client import LanguageModel
    from xkg.model import PaperBundle
    from xkg.sandbox.runner import Runner
    from xkg.serve.service import Service
    from xkg.store.graph_store import GraphStore, Snapshot

BUILD_WITHOUT_KEY = "to build without a model, pass `--llm none`"
"""The note that builds add if their language model has no key."""


def embedder(settings: Settings) -> "CachedEmbedder":
    """Returns the configured embedder, which uses the graph's cache. Loads the model only for texts that are not in the
    cache."""
    from xkg.embeddings.cache import CachedEmbedder

    def make() -> "Embedder":
        from xkg.embeddings.factory import make_embedder

        return make_embedder(settings.embedding)

    return CachedEmbedder(make, settings.kg / "embeddings.sqlite", settings.embedding.vectors)


@contextmanager
def open_store(settings: Settings, *, connect: bool = True) -> "Iterator[GraphStore]":
    """Opens and closes the configured graph's store, without reading anything on opening. Passes `connect` to
    `open_graph`."""
    from xkg.store.open import open_graph

    with ExitStack() as opened:
        store = open_graph(settings, lambda: opened.enter_context(embedder(settings)), connect=connect)
        opened.callback(store.close)
        yield store


@contextmanager
def open_service(settings: Settings) -> "Iterator[Service]":
    """Opens and closes a service for the configured graph, without reading anything on opening."""
    from xkg.serve.service import Service

    with closing(Service(settings)) as service:
        yield service


def language_model(settings: Settings, notify: "Callable[[object], None]", without_key: str) -> "LanguageModel":
    """Opens the configured model. If the key is missing, the error ends with `without_key`, which explains how to work
    without a key."""
    from xkg.llm.client import LanguageModel
    from xkg.llm.programs.known import suggestion

    ways = "; ".join(filter(None, (suggestion(), without_key)))
    return LanguageModel(settings.llm, settings.kg, notify, without_key=ways)


def blacklist_guard(
    settings: Settings, path: Path | None, note: "Callable[[str], None]" = lambda _: None
) -> "BlacklistGuard | None":
    """Returns the guard for a blacklist file, or None if `path` is None. Raises `InputError` if the file cannot be
    read."""
    if path is None:
        return None
    from xkg.blacklist import read_blacklist
    from xkg.build.curation.blacklist_guard import BlacklistGuard

    folder = settings.kg / "curation" / "blacklist"
    return BlacklistGuard(read_blacklist(path), settings.kg / "repositories", folder, note)


def paper_sources(
    settings: Settings, parsers: "Parsers", *, first: bool = False, clock: Clock = CLOCK
) -> "tuple[Source, ...]":
    """Returns the sources for papers that are not files. The source for arXiv ids and addresses comes first, then the
    source for titles. Passes `first` to `TitleSource`."""
    from xkg.build.sources.arxiv import ArxivSource
    from xkg.build.sources.arxiv_index import ArxivIndex
    from xkg.build.sources.title_source import TitleSource

    papers = ArxivSource(settings.kg / "papers", settings.arxiv.url, parsers, clock=clock)
    return papers, TitleSource(ArxivIndex(settings.arxiv.url, clock=clock), papers, first=first)


def share_pace(settings: Settings) -> None:
    """Makes this process share its web server rate limits with all machines that use the graph."""
    from xkg.build.sources import pace

    if settings.store.url is None:
        pace.share("graph", None)
        return
    from xkg.store.neo4j.store import Neo4jStore
    from xkg.store.neo4j.turns import SharedTurns

    pace.share("graph", SharedTurns(lambda: Neo4jStore(settings, lambda: embedder(settings), connect=False)))


def require_folder(folder: Path) -> None:
    """Raises `StoreError` if the folder cannot be written. Commands call this before they start work."""
    try:
        private_folder(folder)
    except OSError as error:
        raise StoreError(f"{folder} cannot be created ({error.strerror}); choose another folder with --kg") from error


def runner_in_force(settings: Settings) -> "Runner | None":
    """Returns the sandbox, or None if this machine has none. Raises an error if the configured runner is missing."""
    from xkg.sandbox.select import runner_for

    try:
        return runner_for(settings.sandbox)
    except SandboxUnavailableError:
        return None


def chosen_papers(store: "GraphStore", snapshot: "Snapshot", papers: Sequence[str]) -> list[str]:
    """Returns the ids of the named papers (default: all). Raises `UnknownIdError` if a paper is unknown or the graph is
    empty."""
    from xkg.serve.answers.references import paper_id

    if not snapshot.paper_count():
        raise UnknownIdError(f"{store.place} has no papers yet; build or import one first")
    if not papers:
        return [paper.id for paper in snapshot.papers()]
    return list(dict.fromkeys(paper_id(snapshot, paper) for paper in papers))


def ids_where_known(settings: Settings, papers: Sequence[str]) -> tuple[str, ...]:
    """Resolves references to paper ids in the graph. Returns unknown references unchanged. Raises `AmbiguousIdError` if
    several papers match a reference."""
    from xkg.serve.answers.references import paper_id

    if not papers:
        return ()
    known = []
    with open_store(settings) as store, store.snapshot() as snapshot:
        for paper in papers:
            try:
                known.append(paper_id(snapshot, paper))
            except AmbiguousIdError:
                raise
            except UnknownIdError:
                known.append(paper)
    return tuple(known)


def stored_paper(store: "GraphStore", paper: str) -> "tuple[int, PaperBundle] | None":
    with store.snapshot() as snapshot:
        try:
            return snapshot.generation, snapshot.bundle(paper)
        except (UnknownIdError, CorruptStoreError):
            return None


@contextmanager
def outbox_when_unreachable(settings: Settings, built: "Sequence[PaperBundle]") -> Iterator[None]:
    """Puts papers into the outbox if their server is unreachable."""
    from xkg.store import outbox

    try:
        yield
    except StoreUnreachableError as error:
        outbox.enqueue(settings.kg, built)
        papers = "the paper is" if len(built) == 1 else f"{len(built)} papers are"
        raise StoreUnreachableError(
            f"{error}; {papers} kept in {settings.kg / outbox.FOLDER}; run `xkg store push` to send them"
        ) from error
