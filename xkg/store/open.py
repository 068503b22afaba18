"""Settings become a graph: on a Neo4j where `store.url` names one, else in the folder of the graph."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from xkg.config import Settings
from xkg.store.graph_store import GraphStore

if TYPE_CHECKING:
    from xkg.embeddings.base import Embedder


def open_graph(
    settings: Settings, embedder: "Callable[[], Embedder]", *, background: bool = False, connect: bool = True
) -> GraphStore:
    """The graph in force; opening reads nothing. `embedder` is called when something must be embedded. Without
    `connect`, closing it leaves to another writer what `GraphStore.connect` does.

    With `background`, indexes that are lost or far behind are made beside the answers, which meanwhile look up names
    and ids alone; without it the first answer waits for them. Raises `ConfigError`."""
    if settings.store.url is None:
        from xkg.store.local.store import EmbeddedStore

        return EmbeddedStore(settings.kg, embedder, model=settings.embedding.vectors)
    from xkg.store.neo4j.store import Neo4jStore

    return Neo4jStore(settings, embedder, background=background, connect=connect)
