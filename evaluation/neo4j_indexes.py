"""Neo4j's own indexes beside the local FAISS and Tantivy ones: the same queries to both, in one run.

    python -m evaluation.neo4j_indexes --url bolt://localhost:7687 [--generated N] [--queries N]

The database must be empty, or hold what an earlier run left there, which is taken out; user and password come from
NEO4J_USERNAME and NEO4J_PASSWORD. The graph is the peer's (`$XKG_SHARED/peer-graphs`, default `../shared`), with the
embedding model of the default settings, or `N` generated techniques. The vectors of those are sums of two
embeddings of the words that texts are drawn from, with some noise: near to some, as those of honest texts are.
Agreement is overlap@10 of the text rankings, recall@10 that of the vectors against exact search.
"""

import argparse
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, median, quantiles

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from evaluation.generated import ACTS, ADJECTIVES, NOUNS
from evaluation.generated_graph import TECHNIQUES, bundles
from xkg.commands.build import embedder
from xkg.config import Settings, StoreSettings
from xkg.embeddings.base import Embedder, documents
from xkg.model import PaperBundle
from xkg.sandbox.evidence.static_checks import check_parsed
from xkg.store.exchange import import_folder
from xkg.store.graph_store import Hit, Snapshot
from xkg.store.index_entries import entries, vector_text
from xkg.store.local.store import EmbeddedStore
from xkg.store.neo4j import read, write
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.migrations import migrate
from xkg.store.neo4j.search.entries import EntryRow, entry_rows
from xkg.store.neo4j.search.indexes import SearchIndex
from xkg.store.neo4j.snapshot import RemoteSnapshot

AT = 10
WARM_UP = 20
PAPERS_A_COMMIT = 10
_LABELS = "Paper Technique Code Symbol Repository Finding Resource Bundle Name SearchEntry Decision Meta".split()


class NeighbourlyVectors:
    """Stands in for an embedding model on generated texts: the sum of two embeddings of word pairs, drawn with the text
    as seed, with noise of a tenth."""

    def __init__(self, real: Embedder) -> None:
        self.model = f"sums of {real.model}"
        self.dimension = real.dimension
        pairs = [f"{adjective} {noun}" for adjective in ADJECTIVES for noun in NOUNS]
        self._base = real.embed([f"{pair} {act}" for pair in pairs for act in ACTS])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, one a row."""
        drawn = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            rng = np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little"))
            noise = rng.standard_normal(self.dimension, dtype=np.float32)
            first, second = rng.integers(len(self._base), size=2)
            drawn[row] = self._base[first] + self._base[second] + 0.1 * noise / np.linalg.norm(noise)
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        return drawn


class KnownVectors:
    """A model whose vectors of all techniques were made before anything is timed; `ids` and `matrix` are theirs."""

    def __init__(self, papers: Sequence[PaperBundle], made_by: Embedder) -> None:
        shown = [entry for bundle in papers for entry in entries(bundle)]
        texts = [vector_text(entry) for entry in shown]
        self.model, self.dimension = made_by.model, made_by.dimension
        self.ids = [entry.technique.id for entry in shown]
        self.matrix = made_by.embed(texts)
        self._known = dict(zip(texts, self.matrix, strict=True))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._known[text] for text in texts])

    def nearest(self, vectors: NDArray[np.float32]) -> list[list[str]]:
        """Ids of the `AT` techniques nearest to each vector, by exact search."""
        return [[self.ids[row] for row in np.argsort(-(self.matrix @ vector))[:AT]] for vector in vectors]


def load_local(folder: Path, papers: Sequence[PaperBundle], model: Embedder) -> tuple[EmbeddedStore, float]:
    """A store with these papers, and the seconds of publishing them, vectors known."""
    store = EmbeddedStore(folder, lambda: model)
    started = time.perf_counter()
    store.publish(papers)
    return store, time.perf_counter() - started


def load_remote(connection: Connection, papers: Sequence[PaperBundle], model: Embedder) -> tuple[SearchIndex, float]:
    """The indexes with these papers in the graph, and the seconds of writing them and their entries."""
    with connection.driver.session(database=connection.database) as session:
        for label in _LABELS:
            session.run(f"MATCH (n:{label}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 5000 ROWS").consume()
    migrate(connection)
    index = SearchIndex(connection)
    index.reset(model.dimension, model.model)

    def search(bundle: PaperBundle) -> list[EntryRow]:
        shown = list(entries(bundle))
        return entry_rows(bundle, shown, documents(model, [vector_text(entry) for entry in shown])) if shown else []

    started = time.perf_counter()
    for start in range(0, len(papers), PAPERS_A_COMMIT):
        task = write.Write(papers[start : start + PAPERS_A_COMMIT], (), model.model, search)
        connection.write(lambda tx, task=task: write.replace(tx, write.begin(tx), task))  # type: ignore[misc]
    index.prepare(model.dimension, model.model)
    return index, time.perf_counter() - started


def questions(papers: Sequence[PaperBundle], count: int) -> list[str]:
    """Names, and pieces of definitions, of techniques spread over the graph."""
    shown = [entry.technique for bundle in papers for entry in entries(bundle)]
    chosen = shown[:: max(1, len(shown) // count)][:count]
    return [t.definition[:200] if n % 2 and t.definition else t.name for n, t in enumerate(chosen)]


def overlap(ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]]) -> float:
    """The mean share of `theirs` that is also in `ours`."""
    return mean(len(set(one) & set(other)) / len(other) for one, other in zip(ours, theirs, strict=True) if other)


def measure(stores: Mapping[str, Snapshot], asked: Sequence[str], by: Embedder, known: KnownVectors) -> list[Table]:
    """Times of all stores, and how far their results agree with the first one's, and with exact search."""
    vectors = by.embed(asked)
    some = [paper.id for paper in stores["local"].papers()][:3]
    times = Table(f"{len(asked)} calls, at {AT}", *(f"{name} {part}, ms" for name in stores for part in ("p50", "p99")))
    agreement = Table("mean share of the ten best", *stores)
    exact = known.nearest(vectors)
    for papers, scope in (((), ""), (some, ", in 3 papers")):
        text: dict[str, list[list[str]]] = {}
        vector: dict[str, list[list[str]]] = {}
        row = {"find_text": text, "find_vector": vector}
        seconds: dict[str, list[str]] = {"find_text": [], "find_vector": []}
        for name, store in stores.items():
            calls: dict[str, Callable[[int], Sequence[Hit]]] = {
                "find_text": lambda n, s=store, p=papers: s.find_text(asked[n], AT, p),  # type: ignore[misc]
                "find_vector": lambda n, s=store, p=papers: s.find_vector(vectors[n], AT, p),  # type: ignore[misc]
            }
            for call, search in calls.items():
                each, row[call][name] = timed(search, len(asked))
                seconds[call] += [f"{median(each) * 1e3:.1f}", f"{quantiles(each, n=100)[-1] * 1e3:.1f}"]
        for call, columns in seconds.items():
            times.add_row(call + scope, *columns)
        agreement.add_row(f"find_text{scope}: of the local ones", *_shares(text, text["local"]))
        if not papers:
            agreement.add_row("find_vector: of exact search", *_shares(vector, exact))
        else:
            agreement.add_row(f"find_vector{scope}: of the local ones", *_shares(vector, vector["local"]))
    return [times, agreement]


def timed(search: Callable[[int], Sequence[Hit]], count: int) -> tuple[list[float], list[list[str]]]:
    """Seconds and ids of each of `count` searches, after a few to warm up."""
    for number in range(min(count, WARM_UP)):
        search(number)
    seconds, found = [], []
    for number in range(count):
        started = time.perf_counter()
        hits = search(number)
        seconds.append(time.perf_counter() - started)
        found.append([hit.id for hit in hits])
    return seconds, found


def _shares(found: Mapping[str, Sequence[Sequence[str]]], wanted: Sequence[Sequence[str]]) -> list[str]:
    return [f"{overlap(one, wanted):.3f}" for one in found.values()]


def _papers(generated: int) -> list[PaperBundle]:
    if generated:
        return list(bundles(-(-generated // TECHNIQUES)))
    shared = Path(os.environ.get("XKG_SHARED") or Path(__file__).parents[2] / "shared")
    return import_folder(shared / "peer-graphs", check_parsed)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--generated", type=int, default=0, help="techniques, in place of the peer's graphs")
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args()
    console = Console(width=140, highlight=False)
    papers = _papers(options.generated)
    model = embedder(Settings())
    by: Embedder = NeighbourlyVectors(model) if options.generated else model
    known = KnownVectors(papers, by)
    connection = Connection(StoreSettings(url=options.url))
    console.print(f"{len(papers)} papers, {len(known.ids)} techniques, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="xkg-indexes-") as folder:
        store, local_seconds = load_local(Path(folder), papers, known)
        index, remote_seconds = load_remote(connection, papers, known)
        console.print(
            f"loaded, vectors known: local {local_seconds:.1f} s, all of a generation; Neo4j {connection.version} "
            f"{remote_seconds:.1f} s, graph and entries, {PAPERS_A_COMMIT} papers a commit"
        )
        with store.snapshot() as local:
            remote = RemoteSnapshot(connection, 1, read.bundles, index=index)
            stores: dict[str, Snapshot] = {"local": local, "Neo4j": remote}
            for table in measure(stores, questions(papers, options.queries), by, known):
                console.print(table)
    connection.close()
    console.print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
