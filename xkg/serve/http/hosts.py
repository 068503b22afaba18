"""Protects against DNS rebinding and detects whether other machines can reach the server.

An attacker can make a web page's host name resolve to this machine. Requests from this page contain the host name in
the Host header. Such requests must not reach a server that trusts local requests."""

import socket
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from xkg.config import HttpSettings
from xkg.serve.http.limits import refuse

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_ALL_ADDRESSES = ("0.0.0.0", "::")

_REFUSED = {
    421: (
        "host",
        "the Host header does not match this server; use one of its hosts, or ask the operator "
        "to extend serve.http.hosts",
    ),
    403: ("origin", "requests from this origin are not allowed; ask the operator to extend serve.http.origins"),
}


def known_hosts(app: ASGIApp, bound: str, names: Sequence[str], origins: Sequence[str]) -> ASGIApp:
    """Accepts requests whose Host is this machine or in `names`. The Origin, if any, must be this machine, in `names`,
    or in `origins`. A server that is bound to all addresses does not know its own names, so it accepts any Host.
    Accepting any Host is safe, because callers of such a server need tokens, and a malicious page has none."""
    own = [f"[{name}]" if ":" in name else name.lower() for name in (bound, *names) if name]
    pages = LOOPBACK if is_loopback(bound) else own
    check = TransportSecurityMiddleware(
        TransportSecuritySettings(
            enable_dns_rebinding_protection=bound not in _ALL_ADDRESSES,
            allowed_hosts=[form for name in (*own, *LOOPBACK) for form in (name, f"{name}:*")],
            allowed_origins=[
                *(origin.rstrip("/") for origin in origins),
                *(f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in (*own, *pages)
                  for port in ("", ":*")),
            ],
        )
    )  # fmt: skip

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        refused = await check.validate_request(Request(scope)) if scope["type"] == "http" else None
        if refused is None:
            await app(scope, receive, send)
        else:
            await refuse(scope, receive, send, refused.status_code, *_REFUSED[refused.status_code])

    return checked


def reached_by_others(http: HttpSettings, bound: str) -> bool:
    """Returns whether other machines can reach a server bound to `bound`, either directly or through a proxy. A proxy
    is assumed if `http.hosts` is set or `http.url` is not local."""
    behind = http.url is not None and not is_loopback(urlsplit(http.url).hostname or "")
    return behind or bool(http.hosts) or not is_loopback(bound)


def is_loopback(host: str) -> bool:
    """Returns whether `host` can be reached only from this machine. Host names are resolved."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        addresses = {entry[4][0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return False
    return all(ip_address(str(address).partition("%")[0]).is_loopback for address in addresses)
