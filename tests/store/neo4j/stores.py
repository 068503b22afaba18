"""Stores on a real Neo4j and beside it, with an embedding model that costs nothing."""

from pathlib import Path

from tests.neo4j_server import Neo4jServer
from tests.store.graphs import FakeHashEmbedder
from xkg.config import EmbeddingSettings, Settings, StoreSettings
from xkg.store.neo4j.store import Neo4jStore

MODEL = EmbeddingSettings(model="fake-hash")


def settings_for(server: Neo4jServer, folder: Path) -> Settings:
    return Settings(kg=folder, store=StoreSettings(url=server.url), embedding=MODEL)


def open_remote(server: Neo4jServer, folder: Path) -> Neo4jStore:
    """The graph on the server; user and password are in the environment."""
    return Neo4jStore(settings_for(server, folder), FakeHashEmbedder)


def forget(store: Neo4jStore) -> None:
    """As if the process that wrote had been killed: nothing is connected when the store is closed."""
    store._written = False
