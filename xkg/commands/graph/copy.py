"""Implements `xkg store copy`, which copies a graph from one store to another and compares the copies."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from xkg.config import NEO4J_SCHEMES, Settings, StoreSettings, neo4j_url
from xkg.errors import ConfigError, StoreError, UnknownIdError
from xkg.model import PaperBundle, paper_of
from xkg.store.bundles import serialise
from xkg.store.graph_store import GraphStore
from xkg.value import Value


class CopyResult(Value):
    """The result of a copy: node counts by kind, the hash of all copied papers (equal in both stores), and the target's
    other papers."""

    source: str
    target: str
    counts: dict[str, int]
    sha256: str
    others: int
    generation: int

    def __str__(self) -> str:
        counts = ", ".join(f"{n} {kind}" for kind, n in self.counts.items())
        beside = f"; {self.others} other papers stay in the target" if self.others else ""
        return (
            f"copied {counts} from {self.source} to {self.target}: both copies are equal (sha256 {self.sha256[:16]})"
            f"{beside}; generation {self.generation}"
        )


def at(settings: Settings, place: str) -> Settings:
    """Returns settings for the graph at `place`, which is a folder or a Neo4j address. Raises `ConfigError` if `place`
    is neither."""
    if place.partition("://")[0] in NEO4J_SCHEMES:
        try:
            neo4j_url(place)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        return settings.model_copy(update={"store": settings.store.model_copy(update={"url": place})})
    if "://" in place:
        raise ConfigError(f"{place!a} is not a graph; use a folder, or an address such as bolt://host:7687")
    return settings.model_copy(update={"kg": Path(place), "store": StoreSettings()})


def copy(source: GraphStore, target: GraphStore, notify: Callable[[int], None] = lambda _: None) -> CopyResult:
    """Copies all papers, the decisions about pairs, and the ablations from `source` to `target`, then reads the papers
    back. `notify` receives the number of papers copied so far.

    Raises `UnknownIdError` if the source has no papers, and `StoreError` if the target's papers differ from those that
    were sent. Also raises errors from reading or publishing."""
    sent, papers = _Tally(), source.bundles()
    first = next(papers, None)
    if first is None:
        raise UnknownIdError(f"{source.place} has no papers: there is nothing to copy")

    def sending() -> Iterator[PaperBundle]:
        for bundle in chain([first], papers):
            sent.add(bundle)
            notify(sent.counts["papers"])
            yield bundle

    target.publish(sending())
    if decided := source.decisions():
        target.decide(decided)
    if measured := [a for a in source.ablations() if paper_of(a.technique) in sent.digests]:
        target.add_ablations(measured)
    received, others = _Tally(), 0
    for bundle in target.bundles():
        if bundle.paper.id in sent.digests:
            received.add(bundle)
        else:
            others += 1
    if received.digests != sent.digests:
        wrong = sorted(p for p, digest in sent.digests.items() if received.digests.get(p) != digest)
        raise StoreError(
            f"{len(wrong)} of {len(sent.digests)} papers in {target.place} differ from the papers that were sent, "
            f"starting with {wrong[0]!a}: another process may be writing there; copy again"
        )
    with target.snapshot() as snapshot:
        generation = snapshot.generation
    return CopyResult(
        source=source.place,
        target=target.place,
        counts=dict(sent.counts),
        sha256=_digest(f"{paper} {digest}" for paper, digest in sorted(sent.digests.items())),
        others=others,
        generation=generation,
    )


class _Tally:
    def __init__(self) -> None:
        self.digests: dict[str, str] = {}
        self.counts: Counter[str] = Counter()

    def add(self, bundle: PaperBundle) -> None:
        self.digests[bundle.paper.id] = hashlib.sha256(serialise(bundle)).hexdigest()
        self.counts["papers"] += 1
        for kind in ("techniques", "code", "symbols", "locations", "findings", "resources"):
            self.counts[kind] += len(getattr(bundle, kind))


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
