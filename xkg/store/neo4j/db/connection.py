"""Connects to a Neo4j server, with credentials, one driver per process, managed transactions, and one-line errors."""

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import neo4j
from neo4j.exceptions import IncompleteCommit, ServiceUnavailable

from xkg.config import StoreSettings
from xkg.errors import StoreError, StoreUnreachableError
from xkg.files import read_regular
from xkg.store.neo4j.db.error_messages import DRIVER_ERRORS, explained
from xkg.version import __version__

OLDEST = (5, 26)
_CONNECT_SECONDS = 5.0
_ACQUIRE_SECONDS = 10.0
# Long enough to retry after a deadlock or election, but short enough to report a lost server within seconds.
_RETRY_SECONDS = 8.0
_IDLE_SECONDS = 60.0
_UNKNOWN_COMMITS = 3
_LONGEST_CREDENTIALS = 65_536
_BOTH_WAYS = "set NEO4J_PASSWORD (and NEO4J_USERNAME), or set store.credentials to a file that contains them"

# Without a handler, the driver would print errors to stderr in addition to raising them.
logging.getLogger("neo4j").addHandler(logging.NullHandler())
# Notifications quote queries, and important ones are raised as query errors anyway.
logging.getLogger("neo4j.notifications").propagate = False

T = TypeVar("T")


def credentials(settings: StoreSettings) -> neo4j.Auth:
    """Reads the user (`principal`) and password from the file in the settings, or else from the environment. Raises
    `StoreUnreachableError` if there is no password."""
    if settings.credentials is None:
        values = {name: os.environ[name] for name in ("NEO4J_USERNAME", "NEO4J_PASSWORD") if os.environ.get(name)}
        where = "the environment"
    else:
        values = _file(settings.credentials)
        where = str(settings.credentials)
    if not values.get("NEO4J_PASSWORD"):
        raise StoreUnreachableError(f"{where} has no password for {settings.url}; {_BOTH_WAYS}")
    return neo4j.basic_auth(values.get("NEO4J_USERNAME") or "neo4j", values["NEO4J_PASSWORD"])


def _file(path: Path) -> dict[str, str]:
    """Parses `NAME=value` lines in a file in Aura's format, with or without `export`, quotes and comments."""
    try:
        text = read_regular(path, _LONGEST_CREDENTIALS).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise StoreUnreachableError(f"the credentials file {path} cannot be read ({reason}); {_BOTH_WAYS}") from None
    found = re.findall(r"^[ \t]*(?:export[ \t]+)?(NEO4J_\w+)[ \t]*=[ \t]*(.*?)[ \t]*\r?$", text, re.MULTILINE)
    return {name: re.sub(r"^(['\"])(.*)\1$", r"\2", value) for name, value in found}


class Connection:
    """A connection to Neo4j, opened on first use. Thread-safe, and safe to use in forked processes.

    `address` is shown in messages. Methods raise `StoreUnreachableError`, `StoreBusyError` and `StoreError` with
    one-line messages."""

    def __init__(self, settings: StoreSettings) -> None:
        if settings.url is None:
            raise ValueError("store.url is not the address of a Neo4j server")
        self.address = settings.url
        self.database = settings.database
        self._settings = settings
        self._user = "neo4j"
        self._turn = threading.RLock()
        self._driver: neo4j.Driver | None = None
        self._agent = ""
        self._process = os.getpid()

    @property
    def driver(self) -> neo4j.Driver:
        """Returns this process's driver, connected to Neo4j 5.26 or later."""
        with self._turn:
            if self._process != os.getpid():
                # After a fork, open connections still belong to the parent process.
                self._process, self._driver = os.getpid(), None
            if self._driver is None:
                self._driver = self._connect()
            return self._driver

    @property
    def user(self) -> str:
        return self._user

    @property
    def version(self) -> str:
        """Returns the server's version, such as `5.26.30`."""
        _ = self.driver
        return self._agent.removeprefix("Neo4j/")

    def read(self, work: Callable[[neo4j.ManagedTransaction], T]) -> T:
        """Runs `work` in a read transaction, which may be retried, and returns its result."""
        with self._session(neo4j.READ_ACCESS) as session:
            return session.execute_read(work)

    def write(self, work: Callable[[neo4j.ManagedTransaction], T]) -> T:
        """Runs `work` in a write transaction and returns its result after the commit. `work` must be idempotent,
        because it may run several times, even after a commit whose confirmation was lost."""
        for _ in range(_UNKNOWN_COMMITS - 1):
            try:
                with self._session(neo4j.WRITE_ACCESS, unknown=IncompleteCommit) as session:
                    return session.execute_write(work)
            except IncompleteCommit:
                continue
        with self._session(neo4j.WRITE_ACCESS) as session:
            return session.execute_write(work)

    def close(self) -> None:
        """Closes all connections. The object can be used again."""
        with self._turn:
            driver, self._driver = self._driver, None
            if driver is not None and self._process == os.getpid():
                driver.close()

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Converts driver errors to errors with one-line messages."""
        try:
            yield
        except DRIVER_ERRORS as error:
            raise explained(error, self.address, self.database, self._user) from error

    @contextmanager
    def _session(self, access: str, unknown: type[Exception] | tuple[()] = ()) -> Iterator[neo4j.Session]:
        driver = self.driver
        try:
            with driver.session(
                database=self.database,
                default_access_mode=access,
                # In a cluster, this ensures that the next read sees this write.
                bookmark_manager=driver.execute_query_bookmark_manager,
            ) as session:
                yield session
        except unknown:
            raise
        except DRIVER_ERRORS as error:
            raise explained(error, self.address, self.database, self._user) from error

    def _connect(self) -> neo4j.Driver:
        known = credentials(self._settings)
        self._user = str(known.principal)
        try:
            driver, agent = _opened(self.address, self.database, known)
        except (*DRIVER_ERRORS, ValueError) as error:  # the driver raises ValueError for an unknown host name
            raise explained(self._cause(error, known), self.address, self.database, self._user) from error
        try:
            self._require_version(agent)
        except StoreError:
            driver.close()
            raise
        self._agent = agent
        return driver

    def _cause(self, error: Exception, known: neo4j.Auth) -> Exception:
        """Returns the underlying reason for a failed connection. The driver reports a different reason, because it
        first asks for the cluster's members."""
        if not (isinstance(error, ServiceUnavailable) and self.address.startswith("neo4j")):
            return error
        try:
            driver, _ = _opened("bolt" + self.address.removeprefix("neo4j"), self.database, known)
        except (*DRIVER_ERRORS, ValueError) as direct:
            return direct
        driver.close()
        return ServiceUnavailable("it answers, but lists no reachable cluster member; use bolt:// instead of neo4j://")

    def _require_version(self, agent: str) -> None:
        found = re.match(r"Neo4j/(\d+)\.(\d+)", agent)
        if found is None or (int(found[1]), int(found[2])) < OLDEST:
            raise StoreError(
                f"{self.address} is {agent[:60]!r}, but xkg needs Neo4j 5.26 or later; upgrade it or correct store.url"
            )


def _opened(address: str, database: str, known: neo4j.Auth) -> tuple[neo4j.Driver, str]:
    driver = neo4j.GraphDatabase.driver(
        address,
        auth=known,
        user_agent=f"xkg/{__version__}",
        connection_timeout=_CONNECT_SECONDS,
        connection_acquisition_timeout=_ACQUIRE_SECONDS,
        max_transaction_retry_time=_RETRY_SECONDS,
        liveness_check_timeout=_IDLE_SECONDS,
        disable_auto_commit_retries=True,
        notifications_min_severity="OFF",
        telemetry_disabled=True,
    )
    try:
        with driver.session(database=database, default_access_mode=neo4j.READ_ACCESS) as session:
            return driver, str(session.run("RETURN 1").consume().server.agent)
    except BaseException:
        driver.close()
        raise
