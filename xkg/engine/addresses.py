"""Checks Ray cluster addresses. Anyone who can reach a cluster and has its token can run code on it."""

import socket
from ipaddress import ip_address

from xkg.errors import ConfigError, UnreachableError

_SECONDS = 5.0


def host_and_port(address: str) -> tuple[str, int]:
    """Returns the host and port. Raises `ConfigError` unless the address is HOST:PORT."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if "://" in address or not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError(
            f"{address!a} is not the address of a Ray cluster; use the HOST:PORT of its head, as `ray start --head` "
            "prints it; this machine must be a node in the cluster (ray start --address=HOST:PORT)"
        )
    return host, int(port)


def require_private(host: str) -> None:
    """Raises `ConfigError` if the host has a public internet address, and `UnreachableError` if its name does not
    resolve."""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError) as error:
        raise UnreachableError(f"the Ray cluster's host {host!a} cannot be resolved; check --address") from error
    public = sorted(number for number in found if ip_address(number.partition("%")[0]).is_global)
    if public:
        raise ConfigError(
            f"{host} is {public[0]}, a public internet address: Ray runs any code from anyone who connects with "
            "its token, which it sends unencrypted; use a private network, or pass --allow-public"
        )


def require_reachable(host: str, port: int) -> None:
    """Raises `UnreachableError` if no connection can be opened."""
    try:
        socket.create_connection((host, port), timeout=_SECONDS).close()
    except OSError as error:
        raise UnreachableError(
            f"no Ray cluster answers at {host}:{port} ({error.strerror or error}); start its head there with "
            f"`ray start --head --port={port}`, or correct --address"
        ) from error
