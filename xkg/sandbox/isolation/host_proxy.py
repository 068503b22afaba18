"""Runs a proxy that connects only to allowed hosts, such as the package index or a repository's host. The proxy is the
sandbox's only network access.

The proxy listens on a unix socket outside the sandbox. Inside the sandbox, `guest.forward` forwards a loopback port to
that socket. Without bubblewrap, the proxy listens on a loopback port. The proxy accepts `CONNECT host:port` and
absolute `http://` requests. TLS stays end-to-end between the program and the host. The proxy stops after relaying a
maximum total number of bytes."""

import contextlib
import functools
import ipaddress
import os
import re
import shutil
import socket
import socketserver
import ssl
import tempfile
import threading
import time
import tomllib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from xkg.errors import InputError
from xkg.text.address import address

_HEAD = 65536
_SILENT = 120.0
"""Connections are closed after this many seconds without data from either end."""
_TRIED_SECONDS = 3.0
_PUBLIC = "https://pypi.org/simple"
# The file host of the public index. Most mirrors also link to files on this host.
_PUBLIC_FILES = ("files.pythonhosted.org", 443)


PYTORCH_CPU = "https://download.pytorch.org/whl/cpu"
# PyTorch's index links to files on a second host.
_LINKED = {"download.pytorch.org": ("download-r2.pytorch.org", 443)}


Host = tuple[str, int]
"""A host name and a port."""
_WEB_PORTS = (443, 80)
_NAMED = re.compile(r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?")


def named_hosts(names: Iterable[str]) -> frozenset[Host]:
    """Parses the hosts listed by a caller: `host` for ports 443 and 80, or `host:port`. Raises `InputError` for any
    other text, such as a pattern or a URL with a path."""
    hosts: set[Host] = set()
    for name in names:
        found = _NAMED.fullmatch(name.strip())
        port = int(found["port"] or 0) if found else 0
        if found is None or port > 65535 or (found["port"] and not port):
            raise InputError(f"--allow-host {name!a}: pass a single host, such as data.example.org, or host:port")
        ports = (port,) if port else _WEB_PORTS
        hosts |= {_place(f"https://{found['host']}:{each}") for each in ports}
    return frozenset(hosts)


def certificates() -> dict[str, Path]:
    """Maps each environment variable that locates trusted certificates to this machine's certificate file. Returns an
    empty mapping if there is no such file."""
    known = (ssl.get_default_verify_paths().cafile, "/etc/ssl/certs/ca-certificates.crt")
    file = next((Path(place).resolve() for place in known if place and Path(place).exists()), None)
    return dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), file) if file else {}


@dataclass(frozen=True)
class Index:
    """A package index, the environment variables that make uv use it, and the hosts that uv must reach."""

    variables: Mapping[str, str]
    hosts: frozenset[tuple[str, int]]

    @property
    def public(self) -> bool:
        """Returns whether the index is PyPI itself."""
        return self.variables == {"UV_DEFAULT_INDEX": _PUBLIC}

    def with_index(self, url: str) -> "Index":
        """Returns a copy that also includes the hosts of another index."""
        place = _place(url)
        return Index(self.variables, self.hosts | {place, _LINKED.get(place[0], place)})


@functools.cache
def reachable(url: str) -> bool:
    """Returns whether the host in a URL accepts connections. Each URL is checked only once per process."""
    try:
        _connected(*_place(url), seconds=_TRIED_SECONDS).close()
    except OSError:
        return False
    return True


def configured_index() -> Index:
    """Returns the index from uv's or pip's environment variables, or else from their configuration files. Falls back to
    the public index."""
    default = _first("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL") or _from_files() or _PUBLIC
    variables = {"UV_DEFAULT_INDEX": default}
    extra = _first("UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL")
    if extra:
        variables["UV_INDEX"] = extra
    urls = [url.rpartition("=")[2] if "=http" in url else url for url in (default, *extra.split())]
    return Index(variables, frozenset({_PUBLIC_FILES, *(_place(url) for url in urls)}))


def _first(*names: str) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def _from_files() -> str:
    import configparser

    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    for path in (home / "uv/uv.toml", Path("/etc/uv/uv.toml")):
        with contextlib.suppress(OSError, ValueError):
            settings = tomllib.loads(path.read_text())
            for index in settings.get("index", ()):
                if index.get("default"):
                    return str(index["url"])
            if "index-url" in settings:
                return str(settings["index-url"])
    for path in (home / "pip/pip.conf", Path.home() / ".pip/pip.conf", Path("/etc/pip.conf")):
        parser = configparser.ConfigParser(interpolation=None)
        with contextlib.suppress(OSError, ValueError, configparser.Error):
            parser.read_string(path.read_text())
            url = parser.get("global", "index-url", fallback="")
            if url:
                return url
    return ""


def _place(url: str) -> tuple[str, int]:
    place = address(url)
    return place.host, place.port


@contextlib.contextmanager
def registry_socket(
    hosts: frozenset[tuple[str, int]],
    max_bytes: int,
    refused: set[str] | None = None,
    received: Callable[[int], None] | None = None,
    *,
    public: bool = False,
) -> Iterator[Path]:
    """Yields a unix socket through which only `hosts` can be reached. If `public` is set, host names may resolve only
    to public internet addresses. Refused hosts are added to `refused`. `received` is called with the number of bytes
    relayed so far, from any thread."""
    folder = Path(tempfile.mkdtemp(prefix="xkg-"))  # must be short: socket paths have at most 108 bytes
    path = folder / "registry"
    try:
        with _UnixProxy(str(path), _handler(hosts, max_bytes, refused, received, public=public)) as proxy:
            path.chmod(0o666)  # the installer has a different uid, and the folder's mode keeps other users out
            with _serving(proxy):
                yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def proxy_port(
    hosts: frozenset[Host], max_bytes: int, refused: set[str] | None = None, *, public: bool = False
) -> Iterator[int]:
    """Like `registry_socket`, but yields a port on the loopback interface."""
    with _TcpProxy(("127.0.0.1", 0), _handler(hosts, max_bytes, refused, public=public)) as proxy, _serving(proxy):
        yield proxy.server_address[1]


def _handler(
    hosts: frozenset[tuple[str, int]],
    max_bytes: int,
    refused: set[str] | None,
    received: Callable[[int], None] | None = None,
    *,
    public: bool = False,
) -> "functools.partial[_Handler]":
    asked = set() if refused is None else refused
    return functools.partial(_Handler, hosts, _Allowance(max_bytes, received), asked, public)


@contextlib.contextmanager
def _serving(proxy: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        proxy.shutdown()
        thread.join()


class _Allowance:
    def __init__(self, total: int, received: Callable[[int], None] | None) -> None:
        self._total = self._remaining = total
        self._received = received
        self._lock = threading.Lock()

    def spend(self, amount: int) -> bool:
        with self._lock:
            self._remaining -= amount
            if self._received is not None:
                self._received(self._total - self._remaining)
            return self._remaining >= 0


class _Threads(socketserver.ThreadingMixIn):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


class _UnixProxy(_Threads, socketserver.UnixStreamServer):
    pass


class _TcpProxy(_Threads, socketserver.TCPServer):
    pass


class _Handler(socketserver.BaseRequestHandler):
    def __init__(
        self,
        hosts: frozenset[tuple[str, int]],
        allowance: _Allowance,
        refused: set[str],
        public: bool,
        request: socket.socket,
        *rest: object,
    ) -> None:
        self._hosts, self._allowance, self._refused, self._public = hosts, allowance, refused, public
        self._moved = time.monotonic()
        super().__init__(request, *rest)  # type: ignore[arg-type]

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            self._handle(self.request)

    def _handle(self, client: socket.socket) -> None:
        client.settimeout(_SILENT)
        head = b""
        while b"\r\n\r\n" not in head:
            chunk = client.recv(_HEAD)
            head += chunk
            if not chunk or len(head) > _HEAD:
                return self._answer(client, "400 Bad Request")
        line, _, rest = head.partition(b"\r\n")
        words = line.decode("latin-1").split()
        if len(words) != 3:
            return self._answer(client, "400 Bad Request")
        method, target, version = words
        tunnel = method == "CONNECT"
        try:
            parts = urlsplit(f"https://{target}" if tunnel else target)
            place = _place(parts.geturl()) if tunnel or parts.scheme == "http" else (parts.hostname or "", 0)
        except ValueError:
            return self._answer(client, "400 Bad Request")
        if place not in self._hosts:
            self._refused.add(place[0] if place[1] in _WEB_PORTS else f"{place[0]}:{place[1]}")
            return self._answer(client, "403 Forbidden")
        try:
            server = _connected(*place, public=self._public and not _is_literal(place[0]))
        except OSError:
            return self._answer(client, "502 Bad Gateway")
        if tunnel:
            return self._join(client, server, b"HTTP/1.1 200 Connection established\r\n\r\n", b"")
        # Allow only one request per connection, so that each request is checked.
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = [h for h in rest.split(b"\r\n") if not h.lower().startswith((b"connection:", b"proxy-"))]
        request = [f"{method} {path} {version}".encode("latin-1"), b"Connection: close", *headers]
        return self._join(client, server, b"", b"\r\n".join(request))

    def _join(self, client: socket.socket, server: socket.socket, down: bytes, up: bytes) -> None:
        with server:
            client.sendall(down)
            server.sendall(up)
            self._moved = time.monotonic()
            upload = threading.Thread(target=self._relay, args=(client, server), daemon=True)
            upload.start()
            self._relay(server, client)
            upload.join(timeout=5)

    def _relay(self, source: socket.socket, sink: socket.socket) -> None:
        how = socket.SHUT_RDWR
        with contextlib.suppress(OSError):
            while chunk := self._received(source):
                if not self._allowance.spend(len(chunk)):
                    break
                sink.sendall(chunk)
                self._moved = time.monotonic()
            else:
                how = socket.SHUT_WR
        with contextlib.suppress(OSError):
            sink.shutdown(how)

    def _received(self, source: socket.socket) -> bytes:
        """Receives the next bytes. Keeps waiting for a silent source while the other end is still sending, for example
        during a long download."""
        while True:
            try:
                return source.recv(1 << 16)
            except TimeoutError:
                if time.monotonic() - self._moved > _SILENT:
                    raise

    def _answer(self, client: socket.socket, status: str) -> None:
        client.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())


def _is_literal(host: str) -> bool:
    """Returns whether a host is an IP address or this machine. Such hosts were listed explicitly, so they are
    allowed."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return host == "localhost"
    return True


def _public_address(host: str, port: int) -> str:
    """Returns a public address of a host. Raises `OSError` if any of its addresses is not public."""
    found = [str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    if not found or not all(ipaddress.ip_address(each.partition("%")[0]).is_global for each in found):
        raise OSError(f"{host} is not on the public internet")
    return found[0]


def _connected(host: str, port: int, seconds: float = 15, *, public: bool = False) -> socket.socket:
    """Connects to a host. If this machine uses a proxy, the connection goes through it, and `public` is not checked
    here."""
    proxy = _first("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    exempt = {name.strip().lower() for name in _first("NO_PROXY", "no_proxy").split(",")}
    if not proxy.startswith("http://") or host in exempt | {"localhost", "127.0.0.1"}:
        server = socket.create_connection((_public_address(host, port) if public else host, port), timeout=seconds)
        server.settimeout(_SILENT)
        return server
    parts = urlsplit(proxy)
    server = socket.create_connection((parts.hostname or "", parts.port or 80), timeout=seconds)
    login = ""
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        login = f"Proxy-Authorization: Basic {b64encode(pair.encode()).decode()}\r\n"
    server.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{login}\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _HEAD:
        byte = server.recv(1)  # do not read past the response head, because all later bytes belong to the tunnel
        if not byte:
            break
        head += byte
    if b" 200" not in head.partition(b"\r\n")[0]:
        server.close()
        raise OSError("this machine's proxy refused the connection")
    server.settimeout(_SILENT)
    return server
