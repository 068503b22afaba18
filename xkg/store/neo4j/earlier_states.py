"""Stores earlier states of papers that were replaced or removed, so that commits can be compared. `(:XkgEarlier {id,
paper, from, until, bundle})` contains a paper's state from the commit `from` up to, but not including, `until`.

Only the most recent states are kept. `(:XkgMeta).earliest` is the first commit for which all states are available."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import neo4j

from xkg.errors import CorruptStoreError, StoreError
from xkg.model import PaperBundle
from xkg.store import bundles
from xkg.store.neo4j import read
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.migrations import State
from xkg.store.rows import key

MOST = 200
"""Maximum number of stored states. Each state takes 10 to 100 KB."""
_LARGEST = 1 << 30

_KEEP = (
    "UNWIND $rows AS row MERGE (e:XkgEarlier {id: row.id}) "
    "SET e.paper = row.paper, e.from = row.from, e.until = row.until, e.bundle = row.bundle"
)
_FORGET = (
    "MATCH (e:XkgEarlier) WITH e ORDER BY e.until DESC, e.id SKIP $most "
    "WITH collect(e) AS old, max(e.until) AS until FOREACH (e IN old | DELETE e) WITH until WHERE until IS NOT NULL "
    "MATCH (m:XkgMeta {id: 'graph'}) WHERE coalesce(m.earliest, 0) < until SET m.earliest = until"
)
_LOST = "MATCH (m:XkgMeta {id: 'graph'}) SET m.earliest = $generation"
_SPAN = "MATCH (m:XkgMeta {id: 'graph'}) RETURN coalesce(m.earliest, 0) AS earliest, m.generation AS generation"
_NEWEST = "MATCH (b:XkgBundle) WHERE b.generation <= $generation RETURN max(b.generation) AS generation"
_SINCE = (
    "MATCH (b:XkgBundle) WHERE b.generation > $since "
    "RETURN b.paper AS paper, b.generation AS began, null AS until, b.removed AS removed, null AS id "
    "UNION ALL MATCH (e:XkgEarlier) WHERE e.until > $since "
    "RETURN e.paper AS paper, e.from AS began, e.until AS until, false AS removed, e.id AS id"
)
_BUNDLE = "MATCH (e:XkgEarlier {id: $id}) RETURN e.bundle AS bundle"


class _Held(NamedTuple):
    """A paper's state from the commit `began` up to, but not including, `until`. For the current state, `until` is
    None. For an earlier state, `id` is the id of its node."""

    began: int
    until: int | None
    removed: bool
    id: str | None


def keep(transaction: neo4j.ManagedTransaction, state: State, papers: Mapping[str, read.Seen]) -> None:
    """Stores these papers as they were before the commit in `state`. `papers` is keyed by paper key. If a paper is too
    damaged to be stored, earlier commits can no longer be compared."""
    rows = [
        {
            "id": f"{paper_key}~{seen.generation}",
            "paper": json.dumps(seen.bundle.paper.id),
            "from": seen.generation,
            "until": state.generation,
            "bundle": zlib.compress(bundles.serialise(seen.bundle)),
        }
        for paper_key, seen in papers.items()
        if isinstance(seen, read.Stored)
    ]
    if rows:
        transaction.run(_KEEP, rows=rows).consume()
        transaction.run(_FORGET, most=MOST).consume()
    if any(isinstance(seen, CorruptStoreError) for seen in papers.values()):
        transaction.run(_LOST, generation=state.generation).consume()


def differences(
    connection: Connection, first: int | None, second: int | None
) -> Iterator[tuple[PaperBundle | None, PaperBundle | None]]:
    """Implements `GraphStore.differences`. By default, `first` is the commit before the most recent one (up to
    `second`) that changed a paper. Raises `StoreError` if a commit is not available."""
    first, second = connection.read(lambda transaction: _ends(transaction, connection.address, first, second))
    since = min(first, second)
    held: dict[str, list[_Held]] = {}
    for record in connection.read(lambda transaction: list(transaction.run(_SINCE, since=since))):
        one = _Held(record["began"], record["until"], record["removed"], record["id"])
        held.setdefault(json.loads(record["paper"]), []).append(one)
    for paper in sorted(held):
        before, after = (_at(held[paper], generation) for generation in (first, second))
        if before != after:
            yield _bundle(connection, paper, before), _bundle(connection, paper, after)


def _ends(transaction: neo4j.ManagedTransaction, place: str, first: int | None, second: int | None) -> tuple[int, int]:
    record = transaction.run(_SPAN).single()
    if record is None:
        raise StoreError(
            f"the Neo4j server at {place} has no graph yet, so there is nothing to compare; build or import "
            "a paper first"
        )
    earliest, present = record["earliest"], record["generation"]
    if second is None:
        second = present
    if first is None:
        newest = transaction.run(_NEWEST, generation=second).single(strict=True)["generation"]
        first = max(0, (newest or 1) - 1)
    for number in (first, second):
        if not earliest <= number <= present:
            raise StoreError(
                f"generation {number} of the Neo4j server at {place} cannot be compared, but {earliest} to {present} "
                "can; to compare older states, export bundles (`xkg export --format bundle`) and compare with their "
                "folder"
            )
    return first, second


def _at(states: Sequence[_Held], generation: int) -> _Held | None:
    for one in states:
        if one.began <= generation and (one.until is None or generation < one.until):
            return None if one.removed else one
    return None


def _bundle(connection: Connection, paper: str, state: _Held | None) -> PaperBundle | None:
    if state is None:
        return None
    if state.id is None:
        stored = next(read.read(connection, [key(paper)]), None)
        if stored is None or stored.generation != state.began:
            raise StoreError(f"paper {paper!a} was changed by another process in the meantime; compare again")
        return stored.bundle
    found = connection.read(lambda transaction: transaction.run(_BUNDLE, id=state.id).single())
    if found is None:
        raise StoreError(
            f"an earlier state of paper {paper!a} was removed by another process in the meantime; compare again"
        )
    try:
        data = zlib.decompressobj().decompress(bytes(found["bundle"]), _LARGEST)
    except (zlib.error, TypeError) as error:
        raise CorruptStoreError(f"the earlier state of paper {paper!a} has changed since it was written") from error
    return bundles.parse(data, Path(state.id), paper)
