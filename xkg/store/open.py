"""Opens the configured graph: on a Neo4j if `store.url` names one, else in the folder of the graph."""

from collections.abc import Callable

from xkg.config import Settings
from xkg.embeddings.base import Embedder
from xkg.store.graph_store import GraphStore


def open_graph(
    settings: Settings, embedder: Callable[[], Embedder], *, background: bool = False, connect: bool = True
) -> GraphStore:
    """The configured graph; opening reads nothing. `embedder` is called when something must be embedded. Without
    `connect`, closing leaves the work of `GraphStore.connect` to another writer.

    With `background`, far outdated indexes are brought up to date while the graph answers from them, and missing ones
    are built while it answers with `StoreBusyError`; without it, the first answer waits. Raises `ConfigError`."""
    if settings.store.url is None:
        from xkg.store.local.store import EmbeddedStore

        return EmbeddedStore(settings.kg, embedder, model=settings.embedding.vectors)
    from xkg.store.neo4j.store import Neo4jStore

    return Neo4jStore(settings, embedder, background=background, connect=connect)
