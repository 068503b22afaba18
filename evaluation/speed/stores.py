"""Compares the embedded store with Neo4j in a single run on the same generated graph.

    python -m evaluation.speed.stores [--papers 5000] [--rounds 20]

Each paper has twenty techniques with 2 KB of code. 5,000 papers have 100,000 techniques, 200,000 hierarchy and code
edges, and as many place edges. `scripts/neo4j-dev` starts a Neo4j server with a small memory limit for the run. Vectors
are random rather than embedded, because only the stores are timed. Short calls are repeated `--rounds` times."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from evaluation.generated.graph import TECHNIQUES, SeededVectors, bundle, bundles
from evaluation.inputs.command import run_command
from xkg.config import EmbeddingSettings, Settings, StoreSettings
from xkg.errors import XkgError
from xkg.store.cypher.named_queries import Engine, NamedQuery, bind, queries
from xkg.store.graph_store import GraphStore
from xkg.store.open import open_graph

ROOT = Path(__file__).parents[2]
BATCH = 200
CHANGED = 50
SECONDS = 60.0
SEEDED = EmbeddingSettings(model=SeededVectors.model)
GIVEN = {
    "paper": "title:generated-40",
    "other": "title:generated-41",
    "technique": "title:generated-40#t0",
    "path": "model/part_1.py",
    "package": "scipy",
    "level": "tested",
    "name": "sparse kernel",
    "text": "kernel",
}
"""A value for each parameter that a named query requires."""

POINT = "MATCH (t:Technique {id: $technique})-[:IMPLEMENTED_BY]->(c:Code) RETURN t.name, t.definition, c.implementation"
TREE = (
    "MATCH (p:Paper {id: $paper})-[:PROPOSES]->(top:Technique)-[:HAS_COMPONENT*1..4]->(t:Technique) "
    "RETURN top.name, t.name, t.depth ORDER BY t.id"
)


class Column(dict[str, str]):
    """Figures, keyed by name. Each figure is printed as soon as it is measured, because a run takes a quarter of an
    hour."""

    def __setitem__(self, name: str, figure: str) -> None:
        print(f"{name}: {figure}", file=sys.stderr, flush=True)
        super().__setitem__(name, figure)


def main(*, papers: int = 5000, rounds: int = 20) -> None:
    console = Console(width=140, highlight=False)
    columns: dict[str, Column] = {}
    with tempfile.TemporaryDirectory(prefix="xkg-stores-") as folder, neo4j(Path(folder)) as address:
        for engine, settings in (
            ("embedded", Settings(kg=Path(folder) / "embedded", store=StoreSettings(), embedding=SEEDED)),
            ("neo4j", Settings(kg=Path(folder) / "shared", store=StoreSettings(url=address), embedding=SEEDED)),
        ):
            print(f"--- {engine}", file=sys.stderr)
            columns[engine] = measured(engine, settings, papers, rounds)  # type: ignore[arg-type]
    console.print(table(columns, papers))
    console.print(f"load at the end {os.getloadavg()[0]:.1f}")


def measured(engine: Engine, settings: Settings, papers: int, rounds: int) -> Column:
    found = Column()
    with opened(settings) as store:
        started = time.perf_counter()
        if engine == "embedded":
            store.publish(list(bundles(papers)))
        else:
            for first in range(0, papers, BATCH):
                store.publish(list(bundles(min(BATCH, papers - first), first)))
        found["load"] = f"{time.perf_counter() - started:.1f} s"
    with opened(settings) as store:
        started = time.perf_counter()
        with store.snapshot() as snapshot:
            snapshot.technique(GIVEN["technique"])
        found["first look-up after opening (Neo4j: rebuilds local indexes)"] = f"{time.perf_counter() - started:.2f} s"

        def look_up() -> None:
            with store.snapshot() as snapshot:
                snapshot.technique(GIVEN["technique"])

        found["technique by id, with code"] = _ms(look_up, rounds)
        found["the same in Cypher"] = _ms(lambda: store.query(POINT, {"technique": GIVEN["technique"]}), rounds)
        found["component tree of depth 4, in Cypher"] = _ms(
            lambda: store.query(TREE, {"paper": GIVEN["paper"]}), rounds
        )
        if engine == "neo4j":
            found.update(writing(store, settings, papers, rounds))
        for query in queries():
            found[f"xkg cypher {query.name}"] = named(store, query, engine)
    return found


def writing(store: GraphStore, settings: Settings, papers: int, rounds: int) -> Column:
    """Measures upserts, and the time until another server's indexes are up to date."""
    found = Column()
    editions = iter(range(1, 10_000))
    found["upsert of a paper with 20 techniques"] = _ms(
        lambda: store.publish([bundle(papers // 2, next(editions))]), rounds
    )
    with opened(settings) as other:
        with other.snapshot():
            pass
        for edition in (1, 2):  # the second edition uses cached embeddings
            changed = [bundle(number, edition) for number in range(CHANGED)]
            SeededVectors().embed(["warm"])
            store.publish(changed)
            started = time.perf_counter()
            with other.snapshot() as snapshot:
                assert snapshot.technique(changed[0].techniques[0].id)
            found[f"catching up with {CHANGED * TECHNIQUES:,} changed techniques"] = (
                f"{time.perf_counter() - started:.2f} s"
            )
    return found


def named(store: GraphStore, query: NamedQuery, engine: Engine) -> str:
    """Returns the milliseconds and the number of rows for a named query."""
    wanted = {p.name: GIVEN[p.name] for p in query.parameters if p.default is None}
    values = bind(query, wanted)
    started = time.perf_counter()
    try:
        table = store.query(query.statements[engine], values, seconds=SECONDS)
    except XkgError as error:
        return str(error)[:60]
    return f"{(time.perf_counter() - started) * 1e3:.1f} ms, {len(table.rows)}{'+' * table.truncated} rows"


@contextmanager
def opened(settings: Settings) -> Iterator[GraphStore]:
    store = open_graph(settings, SeededVectors)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def neo4j(folder: Path) -> Iterator[str]:
    """Starts a Neo4j server and yields its address."""
    command = [sys.executable, str(ROOT / "scripts" / "neo4j-dev")]
    data = str(folder / "neo4j")
    subprocess.run([*command, "start", "--folder", data], check=True, stdout=sys.stderr)
    try:
        os.environ["NEO4J_PASSWORD"] = (folder / "neo4j" / "password").read_text().strip()
        yield f"bolt://127.0.0.1:{(folder / 'neo4j' / 'port').read_text().strip()}"
    finally:
        subprocess.run([*command, "stop", "--folder", data], check=True, stdout=sys.stderr)


def table(columns: dict[str, Column], papers: int) -> Table:
    made = Table(f"{papers * TECHNIQUES:,} techniques", "embedded", "Neo4j")
    names: Sequence[str] = list(dict.fromkeys(name for column in columns.values() for name in column))
    for name in names:
        made.add_row(name, columns["embedded"].get(name, ""), columns["neo4j"].get(name, ""))
    return made


def _ms(act: Callable[[], object], rounds: int) -> str:
    act()
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - started)
    return f"{median(seconds) * 1e3:.1f} ms (worst {max(seconds) * 1e3:.1f})"


if __name__ == "__main__":
    run_command(main)
