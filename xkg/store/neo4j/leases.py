"""Manages leases on papers, which prevent two machines from building the same paper at the same time. A lease is a node
`(:XkgLease {id, holder, fence, expires})`.

A lease that is not renewed expires according to the server's clock. Another machine may then take the lease, with a
higher fence. The fence is compared in the same transaction that publishes the paper, so a machine that was suspended
until its lease expired cannot change anything. The fence corresponds to the sequencer in Burrows, "The Chubby lock
service", OSDI 2006. The node is kept after its lease ends, so that the fence always increases."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import neo4j

from xkg.errors import LeaseHeldError, LeaseLostError, StoreError
from xkg.store.neo4j.db.connection import Connection
from xkg.store.rows import key

SECONDS = 120.0
"""The duration of a lease. The holder renews the lease three times in this period."""

_ACQUIRE = (
    "MERGE (l:XkgLease {id: $id}) ON CREATE SET l.fence = 0, l.expires = 0, l.holder = '' "
    "SET l.lock = $holder "  # locks the node before reading it
    "WITH l, l.expires <= timestamp() AS free "
    "SET l.fence = CASE WHEN free THEN l.fence + 1 ELSE l.fence END, "
    "l.holder = CASE WHEN free THEN $holder ELSE l.holder END, "
    "l.expires = CASE WHEN free THEN timestamp() + $milliseconds ELSE l.expires END "
    "RETURN free, l.fence AS fence, l.holder AS holder, (l.expires - timestamp()) / 1000 AS seconds"
)
_RENEW = "MATCH (l:XkgLease {id: $id}) WHERE l.fence = $fence SET l.expires = timestamp() + $milliseconds RETURN l.id"
_RELEASE = "MATCH (l:XkgLease {id: $id}) WHERE l.fence = $fence SET l.expires = timestamp() + $pause"
_HOLDERS = (
    "UNWIND $rows AS row OPTIONAL MATCH (l:XkgLease {id: row.id}) "
    "RETURN row.id AS id, l.holder AS holder, coalesce(l.fence, 0) AS fence"
)


@contextmanager
def held(
    connection: Connection, paper: str, holder: str, seconds: float | None = None, *, pause: float = 0.0
) -> Iterator[int]:
    """Holds the lease on a paper and yields its fence. The lease ends `pause` seconds after the context. Raises
    `LeaseHeldError` if another machine holds the lease, and the same errors as `Connection`."""
    milliseconds = int((SECONDS if seconds is None else seconds) * 1000)
    values = {"id": key(paper), "holder": holder, "milliseconds": milliseconds, "pause": int(pause * 1000)}
    record = connection.write(lambda transaction: transaction.run(_ACQUIRE, values).single(strict=True))
    if not record["free"]:
        raise LeaseHeldError(
            f"{paper} is being built by {record['holder']}; run again once that build is done; if its builder died, "
            f"the lease expires in {record['seconds']} seconds"
        )
    fence = int(record["fence"])
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(milliseconds / 3000):
            # The server may become reachable again before the lease expires. If the lease is lost, publishing the paper
            # fails.
            with suppress(StoreError):
                connection.write(lambda transaction: transaction.run(_RENEW, {**values, "fence": fence}).consume())

    renewing = threading.Thread(target=renew, name="xkg lease", daemon=True)
    renewing.start()
    try:
        yield fence
    finally:
        ended.set()
        renewing.join()
        with suppress(StoreError):  # the lease expires anyway
            connection.write(lambda transaction: transaction.run(_RELEASE, {**values, "fence": fence}).consume())


def require(transaction: neo4j.ManagedTransaction, fences: Mapping[str, int]) -> None:
    """Raises `LeaseLostError` if another machine has taken the lease on one of these papers since its fence was
    issued."""
    rows = [{"id": key(paper)} for paper in fences]
    by_key = {key(paper): paper for paper in fences}
    for record in transaction.run(_HOLDERS, rows=rows):
        paper = by_key[record["id"]]
        if record["fence"] != fences[paper]:
            raise LeaseLostError(
                f"the lease on {paper} expired, and {record['holder'] or 'another machine'} is building it now: "
                "nothing was published; run again to reuse the finished stages"
            )
