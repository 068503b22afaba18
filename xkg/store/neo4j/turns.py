"""Lets machines that share nothing but a Neo4j server take turns sending requests to a web server. Each turn is a lease
on the web server's name, held for the pause after a request (`xkg.store.neo4j.leases`). If a machine dies during its
turn, the others wait until the lease expires."""

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
"""The maximum wait for a turn, which is enough for 150 requests from others."""
_ASK_SECONDS = 0.5
_AWAY_SECONDS = 60.0


class SharedTurns:
    """Turns shared by all machines that use one Neo4j. If Neo4j cannot be reached or written to, there are no turns for
    a minute, and only this machine's own pause applies. Each turn uses its own connection, so that no connection stays
    open."""

    def __init__(self, open_store: Callable[[], Neo4jStore], most_seconds: float = MOST_SECONDS) -> None:
        self._open = open_store
        self._most = most_seconds
        self._prepared = False
        self._away_until = 0.0

    @contextmanager
    def __call__(self, host: str, seconds: float) -> Iterator[None]:
        """Makes one request to `host`, `seconds` after the last one ended. Raises `UnreachableError` if other machines
        take all turns for `most_seconds`."""
        with ExitStack() as turn:
            if time.monotonic() >= self._away_until:
                try:
                    self._take(turn, host, seconds)
                except LeaseHeldError as error:
                    raise UnreachableError(
                        f"other machines that share the graph have taken every turn at {host} for {self._most:g} s: "
                        "run again later, or build on fewer machines"
                    ) from error
                except StoreError:
                    self._away_until = time.monotonic() + _AWAY_SECONDS
            yield

    def _take(self, turn: ExitStack, host: str, seconds: float) -> None:
        """Raises `LeaseHeldError` if no turn becomes free in time."""
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
