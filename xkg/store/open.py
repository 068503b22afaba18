"""Opens the configured graph: on a Neo4j server if `store.url` is set, otherwise in the graph's folder."""

from collections.abc import Callable

from xkg.config import Settings
from xkg.embeddings.base import Embedder
from xkg.store.graph_store import GraphStore


def open_graph(
    settings: Settings, embedder: Callable[[], Embedder], *, background: bool = False, connect: bool = True
) -> GraphStore:
    """Opens the configured graph without reading anything. `embedder` is called when something must be embedded. If
    `connect` is false, closing leaves the work of `GraphStore.connect` to another writer. If `background` is true,
    indexes that are far out of date are updated while the graph answers from them, and missing indexes are built while
    the graph raises `StoreBusyError`. Otherwise, the first answer waits. Raises `ConfigError`."""
    if settings.store.url is None:
        from xkg.store.local.store import EmbeddedStore

        return EmbeddedStore(settings.kg, embedder, model=settings.embedding.vectors)
    from xkg.store.neo4j.store import Neo4jStore

    return Neo4jStore(settings, embedder, background=background, connect=connect)
