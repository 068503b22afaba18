"""Allows machines that share only a Neo4j server to take turns sending requests to a web server. A turn is a lease on
the web server's name (`xkg.store.neo4j.leases`). The lease is held for a request and the pause that follows it. If a
machine dies during its turn, the other machines wait until the lease expires."""

import os
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

from xkg.errors import LeaseHeldError, StoreError, UnreachableError
from xkg.store.neo4j import leases
from xkg.store.neo4j.store import Neo4jStore

LEASE_SECONDS = 30.0
MOST_SECONDS = 600.0
"""How long to wait for a turn. This is long enough for 150 requests from other machines."""
_ASK_SECONDS = 0.5
_AWAY_SECONDS = 60.0


class SharedTurns:
    """Shares turns among all machines that use the same Neo4j server. If the server cannot be reached or written to,
    turns are disabled for a minute, and only this machine's own pause applies. Each turn uses a separate connection, so
    that no connection is kept open."""

    def __init__(self, open_store: Callable[[], Neo4jStore], most_seconds: float = MOST_SECONDS) -> None:
        self._open = open_store
        self._most = most_seconds
        self._prepared = False
        self._away_until = 0.0

    @contextmanager
    def __call__(self, host: str, seconds: float) -> Iterator[None]:
        """Waits until a request to `host` is allowed, at least `seconds` after the previous request ended. Raises
        `UnreachableError` if other machines take all turns for `most_seconds`."""
        with ExitStack() as turn:
            if time.monotonic() >= self._away_until:
                try:
                    self._take(turn, host, seconds)
                except LeaseHeldError as error:
                    raise UnreachableError(
                        f"other machines that share the graph have kept {host} busy for {self._most:g} s; "
                        "run again later, or build on fewer machines"
                    ) from error
                except StoreError:
                    self._away_until = time.monotonic() + _AWAY_SECONDS
            yield

    def _take(self, turn: ExitStack, host: str, seconds: float) -> None:
        store, until = turn.enter_context(closing(self._open())), time.monotonic() + self._most
        if not self._prepared:
            store.require_writable()
            self._prepared = True
        while True:
            lease = leases.held(store.connection, f"pause {host}", self._holder(), LEASE_SECONDS, pause=seconds)
            try:
                turn.enter_context(lease)
            except LeaseHeldError:
                if time.monotonic() > until:
                    raise
                time.sleep(_ASK_SECONDS * random.uniform(0.5, 1.5))
            else:
                return

    @staticmethod
    def _holder() -> str:
        return f"{socket.gethostname()}, process {os.getpid()}"
