"""Protects against DNS rebinding: a web page must not reach a server that trusts its own machine."""

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from xkg.config import HttpSettings
from xkg.serve.http.limits import refuse

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class KnownHosts:
    """Accepts requests whose Host is a name of this server. The Origin, if a browser sent one, must be one of `origins`
    or this server; on a server for this machine only, it may also be a page of this machine.

    A rebound page of an attacker has the attacker's name as its Host. A server on all addresses of its machine does not
    know its own names, so it accepts any IP address: an address cannot be rebound."""

    def __init__(self, app: ASGIApp, bound: str, names: Sequence[str], origins: Sequence[str]) -> None:
        self._app = app
        own = _address(bound)
        self._any_address = own is not None and own.is_unspecified
        self._local = bound == "localhost" or (own is not None and own.is_loopback)
        named = [bound, *names, *LOOPBACK]
        if self._any_address:
            named.append(socket.gethostname())
        self._hosts = {name.lower() for name in named}
        self._origins = {origin.rstrip("/").lower() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
            origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
            if len(hosts) != 1 or not self._known(hosts[0]):
                words = "the Host header names no host of this server: use one, or have serve.http.hosts extended"
                await refuse(scope, receive, send, 421, "host", words)
                return
            if len(origins) > 1 or (origins and not self._welcome(origins[0], hosts[0])):
                words = "web pages of this origin may not call: have it listed in serve.http.origins"
                await refuse(scope, receive, send, 403, "origin", words)
                return
        await self._app(scope, receive, send)

    def _known(self, host: str) -> bool:
        name = _name(host)
        return name is not None and (name in self._hosts or (self._any_address and _address(name) is not None))

    def _welcome(self, origin: str, host: str) -> bool:
        if origin.lower() in self._origins:
            return True
        parts = _split(origin)
        if parts is None:
            return False
        return parts[0] == host.lower() or (self._local and parts[1] in LOOPBACK)


def reached_by_others(http: HttpSettings, bound: str) -> bool:
    """Whether other machines can reach a server bound to `bound`, directly or through a proxy (`http.url` and
    `http.hosts` indicate one)."""
    behind = http.url is not None and not is_loopback(urlsplit(http.url).hostname or "")
    return behind or bool(http.hosts) or not is_loopback(bound)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`. A name is resolved."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        addresses = {entry[4][0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return False
    return all(ip_address(str(address).partition("%")[0]).is_loopback for address in addresses)


def _split(origin: str) -> tuple[str, str] | None:
    """Host with port, and host alone, of an origin. None for `null` and for anything that is not an origin."""
    try:
        parts = urlsplit(origin.lower())
        return (parts.netloc, parts.hostname) if parts.scheme in ("http", "https") and parts.hostname else None
    except ValueError:
        return None


def _name(host: str) -> str | None:
    """The host name in a Host header, without port and brackets."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname if parts.netloc == host and "@" not in host else None


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None
