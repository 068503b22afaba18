"""Papers put into a Neo4j row by row, for tests of what reads them."""

import json
from collections.abc import Iterator, Sequence

from neo4j import ManagedTransaction

from xkg.embed import Embedder
from xkg.model import PaperBundle
from xkg.store.neo4j.connection import Connection
from xkg.store.neo4j.name_lookup import name_rows, write_names
from xkg.store.neo4j.search_entries import entry_rows, write_entries
from xkg.store.rows import NODES, key, paper_rows
from xkg.store.visible import entries, vector_text

_BUNDLE = "MERGE (b:Bundle {id: $id}) SET b.paper = $paper, b.generation = $generation, b.removed = $removed"


class Graph:
    """A graph on the server. Its bundles are kept here too, and read from here, so that what is under test is asked of
    nothing else; `reads` are the papers of each time."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.bundles: dict[str, PaperBundle] = {}
        self.reads: list[list[str]] = []
        self._generation = 0

    def put(self, bundle: PaperBundle, embedder: Embedder | None = None) -> None:
        """Writes a paper in one transaction, with entries for search where an embedder is given."""
        paper = bundle.paper.id
        self.bundles[paper] = bundle
        visible = list(entries(bundle))
        found = []
        if embedder is not None and visible:
            found = entry_rows(bundle, visible, embedder.embed([vector_text(entry) for entry in visible]))

        def write(transaction: ManagedTransaction) -> None:
            self._mark(transaction, paper, removed=False)
            for row in paper_rows(bundle, visible):
                if row.table in NODES:
                    names = [name.removesuffix("[]") for name in NODES[row.table].split()]
                    values = [list(v) if isinstance(v, tuple) else v for v in row.values]
                    node = dict(zip(names, values, strict=True))
                    transaction.run(f"MERGE (n:{row.table} {{id: $id}}) SET n = $node", id=node["id"], node=node)
            write_names(transaction, [paper], name_rows(bundle, visible))
            if embedder is not None:
                write_entries(transaction, [paper], found, embedder.model)

        self.connection.write(write)

    def remove(self, paper: str, embedder: Embedder | None = None) -> None:
        def write(transaction: ManagedTransaction) -> None:
            self._mark(transaction, paper, removed=True)
            for label in ("Paper", "Technique", "Code"):
                transaction.run(f"MATCH (n:{label}) WHERE n.id STARTS WITH $paper DETACH DELETE n", paper=key(paper))
            write_names(transaction, [paper], [])
            if embedder is not None:
                write_entries(transaction, [paper], [], embedder.model)

        del self.bundles[paper]
        self.connection.write(write)

    def read(self, _: ManagedTransaction, papers: Sequence[str]) -> Iterator[PaperBundle]:
        """Stands in for the reader of bundles."""
        self.reads.append(list(papers))
        return (self.bundles[paper] for paper in papers if paper in self.bundles)

    def _mark(self, transaction: ManagedTransaction, paper: str, *, removed: bool) -> None:
        self._generation += 1
        transaction.run("MATCH (m:Meta {id: 'graph'}) SET m.generation = m.generation + 1").consume()
        values = {"paper": json.dumps(paper), "generation": self._generation, "removed": removed}
        transaction.run(_BUNDLE, id=key(paper), **values).consume()
