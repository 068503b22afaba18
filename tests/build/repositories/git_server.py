"""Serves git over https on loopback, with git's own `http-backend` and a new certificate."""

import datetime
import functools
import ipaddress
import os
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.loopback import QuietHandler, Served


class GitServer:
    """Serves repositories, each at the address that `add` returns. If `elsewhere` is set, every request is redirected
    to it. `asked` contains the requested paths. Without `filters`, the server sends files of any size. If `secretive`
    is set, the server asks for a password if a repository does not exist, as GitHub does."""

    def __init__(self, port: int) -> None:
        self.url = f"https://localhost:{port}"
        self.repositories: dict[str, Path] = {}
        self.elsewhere = ""
        self.filters = True
        self.secretive = False
        self.asked: list[str] = []

    def add(self, repository: Path, name: str = "owner/name") -> str:
        self.repositories[name] = repository / ".git" if (repository / ".git").exists() else repository
        return f"{self.url}/{name}"


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    """Yields a server that this process trusts."""
    folder = _certificate()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    served = Served(_Handler)
    http = served.server
    http.socket = context.wrap_socket(http.socket, server_side=True, do_handshake_on_connect=False)
    http.owner = GitServer(http.server_port)
    monkeypatch.setenv("GIT_SSL_CAINFO", str(folder / "certificate.pem"))
    with served:
        yield http.owner


class _Handler(QuietHandler):
    timeout = 30

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _serve(self, body: bytes) -> None:
        server: GitServer = self.server.owner
        server.asked.append(self.path)
        parts = urlsplit(self.path)
        if server.elsewhere:
            self.send_response(302)
            self.send_header("Location", server.elsewhere + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        words = unquote(parts.path).split("/")
        folder = server.repositories.get("/".join(words[1:3]))
        if folder is None:
            self.send_response(401 if server.secretive else 404)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": "uploadpack.allowFilter",
            "GIT_CONFIG_VALUE_0": str(server.filters).lower(),
            "GIT_CONFIG_KEY_1": "safe.directory",
            "GIT_CONFIG_VALUE_1": "*",
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROJECT_ROOT": str(folder),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "PATH_INFO": "/" + "/".join(words[3:]),
            "QUERY_STRING": parts.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        with subprocess.Popen(
            ["git", "http-backend"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as backend:
            assert backend.stdin is not None
            assert backend.stdout is not None
            backend.stdin.write(body)
            backend.stdin.close()
            headers = []
            while line := backend.stdout.readline().strip():
                headers.append(line.decode().partition(": "))
            status = next((int(value.split()[0]) for name, _, value in headers if name == "Status"), 200)
            self.send_response(status)
            for name, _, value in headers:
                if name != "Status":
                    self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")  # a repository may be of any size
            self.end_headers()
            try:
                while chunk := backend.stdout.read1(1 << 20):
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                self.wfile.write(b"0\r\n\r\n")
            except OSError:  # the client has disconnected
                backend.kill()
                self.close_connection = True


@functools.cache
def _certificate() -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    alternatives = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = Path(tempfile.mkdtemp(prefix="xkg-test-"))
    pem = serialization.Encoding.PEM
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(pem))
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(pem, *plain))
    return folder
