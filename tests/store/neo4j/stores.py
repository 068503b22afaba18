"""Opens stores on a real Neo4j, with an embedding model that costs nothing."""

from pathlib import Path

from tests.neo4j_server import Neo4jServer
from tests.store.graphs import FakeHashEmbedder
from xkg.config import EmbeddingSettings, Settings, StoreSettings
from xkg.store.neo4j.store import Neo4jStore

MODEL = EmbeddingSettings(model="fake-hash")


def settings_for(server: Neo4jServer, folder: Path) -> Settings:
    return Settings(kg=folder, store=StoreSettings(url=server.url), embedding=MODEL)


def open_remote(server: Neo4jServer, folder: Path) -> Neo4jStore:
    """Opens the graph on the server. The user and the password are in the environment."""
    return Neo4jStore(settings_for(server, folder), FakeHashEmbedder)


def forget(store: Neo4jStore) -> None:
    """Imitates a kill of the writing process: no connection is open when the store is closed."""
    store._written = False
