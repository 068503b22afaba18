import socket

import pytest

from xkg.engine.addresses import host_and_port, require_private, require_reachable
from xkg.errors import ConfigError, UnreachableError


@pytest.mark.parametrize("address", ["ray://10.0.0.1:10001", "10.0.0.1", ":6379", "10.0.0.1:0", "h:70000", "a:b"])
def test_what_is_no_address_of_a_head_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        host_and_port(address)


@pytest.mark.parametrize("host", "127.0.0.1 10.1.2.3 192.168.0.7 172.16.0.1 100.64.0.1 fd00::1 fe80::1".split())
def test_private_addresses_are_taken(host: str) -> None:
    require_private(host)


@pytest.mark.parametrize("host", ["8.8.8.8", "2606:4700::1111"])
def test_a_public_address_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match="--allow-public"):
        require_private(host)


def test_a_closed_port_is_named() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with pytest.raises(UnreachableError, match=f"no Ray cluster answers at 127.0.0.1:{port}"):
            require_reachable("127.0.0.1", port)


def test_an_address_is_taken_apart() -> None:
    assert host_and_port("10.0.0.1:6379") == ("10.0.0.1", 6379)
    assert host_and_port("[fd00::1]:6379") == ("fd00::1", 6379)
