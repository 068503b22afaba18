"""Opens the configured graph: on a Neo4j server if `store.url` is set, otherwise in the graph's folder."""

from collections.abc import Callable

from xkg.config import Settings
from xkg.embeddings.base import Embedder
from xkg.store.graph_store import GraphStore


def open_graph(
    settings: Settings, embedder: Callable[[], Embedder], *, background: bool = False, connect: bool = True
) -> GraphStore:
    """Opens the configured graph, but does not read anything yet. `embedder` is called when something must be embedded.
    If `connect` is false, closing the graph does not call `GraphStore.connect`, and another writer must do so.

    If `background` is true, indexes are updated and built in the background. Until the indexes are ready, the graph
    uses outdated indexes, or raises `StoreBusyError` if there are none. If `background` is false, the first call waits
    for the indexes."""
    if settings.store.url is None:
        from xkg.store.local.store import EmbeddedStore

        return EmbeddedStore(settings.kg, embedder, model=settings.embedding.vectors)
    from xkg.store.neo4j.store import Neo4jStore

    return Neo4jStore(settings, embedder, background=background, connect=connect)
