import socket
from pathlib import Path
from unittest import mock

import pytest

from tests.sandbox.index import Index, serving
from xkg.errors import InputError
from xkg.sandbox.isolation.host_proxy import configured_index, named_hosts, registry_socket
from xkg.sandbox.packages.wheels import top_level


def ask(path: Path, request: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(60)
        client.connect(str(path))
        client.sendall(request.encode())
        answer = b""
        while chunk := client.recv(65536):
            answer += chunk
    return answer


def test_only_the_index_can_be_reached() -> None:
    with serving(Index()) as index, serving(Index()) as other:
        index.add("alpha", "1.0", {"alpha.py": ""})
        other.add("alpha", "1.0", {"alpha.py": ""})
        allowed, port = ("127.0.0.1", int(index.url.split(":")[2].split("/")[0])), other.url.split("/")[2]
        with registry_socket(frozenset({allowed}), 1 << 20) as path:
            got = ask(path, f"GET {index.url}/alpha/ HTTP/1.1\r\nHost: x\r\n\r\n")
            assert got.startswith(b"HTTP/1.1 200")
            assert b"alpha-1.0" in got
            for target in (f"http://{port}/simple/alpha/", "http://169.254.169.254/", "file:///etc/passwd", "/etc"):
                assert ask(path, f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 403")
            for target in (port, "localhost:22", "[::1]:80", "127.0.0.1", f"127.0.0.1:{allowed[1]}@{port}"):
                assert ask(path, f"CONNECT {target} HTTP/1.1\r\n\r\n").startswith((b"HTTP/1.1 403", b"HTTP/1.1 400"))
            for nonsense in ("x\r\n\r\n", "GET http://[ HTTP/1.1\r\n\r\n", "A" * 65_537):
                assert ask(path, nonsense).startswith(b"HTTP/1.1 400")
        assert other.asked == []
        assert not path.exists()


def test_a_tunnel_carries_what_is_said() -> None:
    with serving(Index()) as index:
        index.add("alpha", "1.0", {"alpha.py": ""})
        port = int(index.url.split(":")[2].split("/")[0])
        with (
            registry_socket(frozenset({("127.0.0.1", port)}), 1 << 20) as path,
            socket.socket(socket.AF_UNIX) as client,
        ):
            client.settimeout(60)
            client.connect(str(path))
            client.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
            client.sendall(b"GET /simple/alpha/ HTTP/1.1\r\nConnection: close\r\n\r\n")
            answer = b""
            while chunk := client.recv(65536):
                answer += chunk
            assert b"alpha-1.0" in answer


def test_a_download_has_an_end() -> None:
    with serving(Index()) as index:
        index.files["big-1.0-py3-none-any.whl"] = bytes(1 << 20)
        host = ("127.0.0.1", int(index.url.split(":")[2].split("/")[0]))
        with registry_socket(frozenset({host}), 200_000) as path:
            url = index.url.replace("simple", "files/big-1.0-py3-none-any.whl")
            assert len(ask(path, f"GET {url} HTTP/1.1\r\nHost: x\r\n\r\n")) <= 200_000


def test_the_index_is_the_one_that_is_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip/pip.conf").write_text("[global]\nindex-url = https://user:pass%40@pip.example:8443/simple\n")
    assert ("pip.example", 8443) in configured_index().hosts
    (tmp_path / "uv").mkdir()
    (tmp_path / "uv/uv.toml").write_text('[[index]]\nurl = "https://uv.example/simple"\ndefault = true\n')
    assert ("uv.example", 443) in configured_index().hosts
    monkeypatch.setenv("PIP_INDEX_URL", "http://variable.example/simple")
    monkeypatch.setenv("UV_INDEX", "extra=https://extra.example/simple")
    assert {("variable.example", 80), ("extra.example", 443)} <= configured_index().hosts


def test_top_level_names_of_a_wheel() -> None:
    names = [
        "package/__init__.py",
        "package/deep/x.py",
        "namespace/part/y.py",
        "single.py",
        "_native.cpython-311-x86_64-linux-gnu.so",
        "native/_x.abi3.so",
        "data_only/table.csv",
        "thing-1.0.dist-info/METADATA",
        "thing-1.0.dist-info/licenses/x.py",
        "thing-1.0.data/purelib/moved.py",
        "thing-1.0.data/scripts/tool.py",
        "thing.pth",
    ]
    assert top_level(names) == {"package", "namespace", "single", "_native", "native", "moved"}


def test_hosts_are_named_one_by_one() -> None:
    assert named_hosts(["Data.example.org"]) == {("data.example.org", 443), ("data.example.org", 80)}
    assert named_hosts(["127.0.0.1:8000", "[::1]:80"]) == {("127.0.0.1", 8000), ("::1", 80)}
    for name in ("https://a.example/x", "*.example.org", "a.example/x", "a@b.example", "", "a.example:0", "a:99999"):
        with pytest.raises(InputError, match="--allow-host"):
            named_hosts([name])


@pytest.mark.parametrize("place", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "fd00::1", "::ffff:127.0.0.1"])
def test_a_name_that_leads_into_this_network_is_not_followed(place: str) -> None:
    answers = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (place, 80))]
    mixed = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 80)), *answers]
    with registry_socket(named_hosts(["data.example.org"]), 1 << 20, public=True) as path:
        for found in (answers, mixed):
            with (
                mock.patch.object(socket, "getaddrinfo", return_value=found),
                mock.patch.dict("os.environ", clear=True),
            ):
                answer = ask(path, "GET http://data.example.org/ HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 502")


def test_an_address_is_reached_if_it_was_named_itself() -> None:
    with serving(Index()) as index, serving(Index()) as other:
        index.add("alpha", "1.0", {"alpha.py": ""})
        here, there = (each.url.split("/")[2] for each in (index, other))
        with registry_socket(named_hosts([here]), 1 << 20, public=True) as path:
            assert ask(path, f"GET {index.url}/alpha/ HTTP/1.1\r\nHost: x\r\n\r\n").startswith(b"HTTP/1.1 200")
            port = here.split(":")[1]
            for target in (there, f"localhost:{port}", f"2130706433:{port}", f"[::1]:{port}", f"0.0.0.0:{port}"):
                answer = ask(path, f"GET http://{target}/ HTTP/1.1\r\nHost: {here}\r\n\r\n")
                assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400")) or target.startswith("2130706433"), target
        assert other.asked == []
