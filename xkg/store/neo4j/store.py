"""`Neo4jStore`: one graph on one Neo4j database."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from xkg.config import Settings
from xkg.errors import StoreError

if TYPE_CHECKING:
    from xkg.embed import Embedder
    from xkg.store import GraphStore


def Neo4jStore(settings: Settings, embedder: "Callable[[], Embedder]", *, background: bool) -> "GraphStore":  # noqa: ARG001
    raise StoreError("not yet")
