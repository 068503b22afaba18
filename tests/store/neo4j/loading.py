"""A graph on a real Neo4j, written and read without a store around it."""

from collections.abc import Iterator, Sequence

from neo4j import ManagedTransaction

from tests.store.graphs import FakeHashEmbedder
from xkg.embeddings.base import Embedder
from xkg.model import PaperBundle
from xkg.store.neo4j import read, write
from xkg.store.neo4j.db.connection import Connection

EMBEDDER = FakeHashEmbedder()


class Graph:
    """`reads` are the papers of each time that bundles were read."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.reads: list[list[str]] = []

    def put(self, *bundles: PaperBundle, embedder: Embedder = EMBEDDER) -> None:
        """Adds or replaces papers in one transaction."""
        self._commit(bundles, (), embedder)

    def remove(self, *papers: str) -> None:
        self._commit((), papers, EMBEDDER)

    def read(self, transaction: ManagedTransaction, papers: Sequence[str]) -> Iterator[PaperBundle]:
        self.reads.append(list(papers))
        return read.bundles(transaction, papers)

    def bundles(self, papers: Sequence[str]) -> Iterator[PaperBundle]:
        return iter(self.connection.read(lambda transaction: list(self.read(transaction, papers))))

    def _commit(self, new: Sequence[PaperBundle], removed: Sequence[str], embedder: Embedder) -> None:
        self.connection.write(
            lambda transaction: write.replace(transaction, write.begin(transaction), new, removed, embedder.model)
        )
