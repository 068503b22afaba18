"""Converts errors from Neo4j or its connection to one-line messages with a remedy."""

import ssl
from collections.abc import Iterator

from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    ConnectionAcquisitionTimeoutError,
    DriverError,
    Forbidden,
    ForbiddenOnReadOnlyDatabase,
    Neo4jError,
    NotALeader,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
    UnsupportedServerProduct,
)

from xkg.errors import InputError, StoreBusyError, StoreError, StoreUnreachableError, XkgError

_TOO_LARGE = "too large to index"


def explained(error: BaseException, address: str, database: str, user: str) -> XkgError:
    """Returns the error to raise instead of a driver's error. The message never contains the password."""
    if isinstance(error, Neo4jError):
        return _of_server(error, address, database, user)
    chain = [type(cause).__name__ for cause in _chain(error)]
    if any(isinstance(cause, ssl.SSLError) for cause in _chain(error)) or "BoltSecurityError" in chain:
        reason = next((_line(cause) for cause in _chain(error) if isinstance(cause, ssl.SSLError)), "no TLS there")
        return StoreUnreachableError(
            f"no encrypted connection to {address} ({reason}); check its certificate, use +ssc if it is self-signed, "
            "or use bolt:// or neo4j:// if the server has no TLS"
        )
    other = {"BoltHandshakeError", "BoltProtocolError"}.intersection(chain) or "looks like HTTP" in str(error)
    if isinstance(error, UnsupportedServerProduct) or other:
        return StoreUnreachableError(
            f"the server at {address} does not speak Neo4j's Bolt protocol; set store.url to the Bolt port (7687), "
            "with +s if the server requires TLS"
        )
    if isinstance(error, ServiceUnavailable | SessionExpired | OSError | ValueError):
        return StoreUnreachableError(
            f"the Neo4j server at {address} does not answer ({_reason(error)}); start the server or correct store.url, "
            "then see `xkg doctor`"
        )
    if isinstance(error, ConnectionAcquisitionTimeoutError):
        return StoreBusyError(
            f"the Neo4j server at {address} did not provide a connection in time; try again when it is less busy"
        )
    if isinstance(error, ConfigurationError):
        return StoreUnreachableError(f"cannot connect to {address} ({_line(error)}); correct store.url")
    if isinstance(error, OverflowError):
        return InputError("a number in the paper is larger than 64 bits, so nothing was stored; correct this number")
    return StoreError(f"the Neo4j server at {address} failed ({_line(error)}): nothing was changed; see `xkg doctor`")


def _of_server(error: Neo4jError, address: str, database: str, user: str) -> XkgError:
    code = error.code
    line = _line(error)
    if isinstance(error, AuthError) or code.endswith((".CredentialsExpired", ".AuthenticationRateLimit")):
        return StoreUnreachableError(
            f"{address} rejected the login of user {user!r} ({line}); correct the user or password in NEO4J_USERNAME "
            "and NEO4J_PASSWORD, or in the store.credentials file"
        )
    if "DatabaseNotFound" in code or "DatabaseUnavailable" in code:
        return StoreUnreachableError(
            f"database {database!r} at {address} cannot be used ({line}); set store.database to an existing one (SHOW "
            "DATABASES lists them), or start it"
        )
    if isinstance(error, Forbidden | ForbiddenOnReadOnlyDatabase | NotALeader) or code.endswith("General.ReadOnly"):
        return StoreError(
            f"user {user!r} cannot do this in database {database!r} at {address} ({line}): nothing was changed; use a "
            "user with write access, or the cluster's neo4j:// address"
        )
    if _TOO_LARGE in (error.message or ""):
        return InputError(
            f"a name or id in the paper is too long for Neo4j to index: nothing was stored; shorten it ({line[:80]})"
        )
    if isinstance(error, TransientError):
        return StoreBusyError(
            f"the Neo4j server at {address} could not do this now ({line}): nothing was changed; try again"
        )
    return StoreError(
        f"the Neo4j server at {address} refused the request ({line}): nothing was changed; see `xkg doctor`"
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: BaseException) -> str:
    for cause in _chain(error):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        if isinstance(cause, TimeoutError):
            return "no answer in time"
    return _line(error)


def _line(error: BaseException) -> str:
    text = error.message if isinstance(error, Neo4jError) else str(error)
    return " ".join((text or type(error).__name__).split())[:200]


DRIVER_ERRORS = (Neo4jError, DriverError, OSError, OverflowError)
"""The driver's error classes. The driver also raises `ValueError`, but only while connecting."""
