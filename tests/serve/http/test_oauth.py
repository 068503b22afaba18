"""Tests valid and invalid OAuth tokens from an issuer on loopback."""

import asyncio
import base64
import contextlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.loopback import QuietHandler, Served
from tests.serve.http_server import PING, Running, call, running, without_time
from xkg.config import HttpSettings, OAuthSettings
from xkg.serve.http import oauth
from xkg.serve.http.tokens import Tokens

AUDIENCE = "https://kg.example.org/mcp"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
# These times are fixed, because pytest creates the parameters first and the tests may run much later.
PAST, FUTURE = 1_000_000_000, 4_000_000_000
CURVE = ec.generate_private_key(ec.SECP256R1())


PUBLISHED = {
    "rsa": json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key())),
    "ec": json.loads(jwt.algorithms.ECAlgorithm.to_jwk(CURVE.public_key())),
}


class Issuer:
    """Publishes its metadata and its public keys."""

    url = ""

    def publish(self, handler: BaseHTTPRequestHandler) -> None:
        said: dict[str, Any] | None = None
        if handler.path == "/.well-known/oauth-authorization-server/realm":
            said = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        elif handler.path == "/realm/keys":
            said = {"keys": [{**key, "kid": kid, "use": "sig"} for kid, key in PUBLISHED.items()]}
        body(json.dumps(said).encode(), 200 if said else 404)(handler)

    def token(
        self,
        *,
        key: Any = KEY,
        algorithm: str = "RS256",
        kid: str | None = "rsa",
        header: dict[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        whole = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "user-1",
            "client_id": "agent",
            "scope": "read",
            "exp": FUTURE,
            **claims,
        }
        stated = {name: value for name, value in whole.items() if value is not None}
        headers = {"typ": "at+jwt", **({"kid": kid} if kid else {}), **(header or {})}
        return jwt.encode(stated, key, algorithm=algorithm, headers=headers)


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    with publishing(issuer.publish) as address:
        issuer.url = f"{address}/realm"
        yield issuer


@pytest.fixture(scope="module")
def server(graph: Path, issuer: Issuer) -> Iterator[Running]:
    with running(graph, HttpSettings(url=AUDIENCE), OAuthSettings(issuer=issuer.url)) as started:
        yield started


@pytest.mark.parametrize(
    "good",
    [
        {},
        {"scope": None, "scp": ["read", "write"]},
        {"aud": ["https://other.example.org", AUDIENCE]},
        {"key": CURVE, "algorithm": "ES256", "kid": "ec"},
        {"header": {"typ": "application/AT+JWT"}},
        {"exp": FUTURE + 0.5, "iat": PAST + 0.5, "nbf": PAST},
    ],
)
def test_tokens_for_this_server_open_it(server: Running, issuer: Issuer, good: dict[str, Any]) -> None:
    assert server.client(issuer.token(**good)).post("/mcp", json=PING).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"exp": PAST},
        {"exp": None},
        {"exp": float("inf")},
        {"iat": "soon"},
        {"nbf": FUTURE},
        {"aud": "https://other.example.org/mcp"},
        {"aud": None},
        {"aud": [AUDIENCE, 1]},
        {"sub": 7},
        {"iss": "https://evil.example.com"},
        {"key": OTHER},
        {"kid": "unknown"},
        {"kid": None},
        {"kid": "ec"},
        {"header": {"typ": "JWT"}},
        {"header": {"typ": None}},
        {"cnf": {"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}},
        {"header": {"crit": ["b64"], "b64": True}},
        {"key": OTHER, "header": {"jwk": json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(OTHER.public_key()))}},
        {"key": "shared secret of thirty-two bytes or more", "algorithm": "HS256"},
        {"key": None, "algorithm": "none"},
    ],
)
def test_other_tokens_are_refused_and_told_where_to_get_one(
    server: Running, issuer: Issuer, wrong: dict[str, Any]
) -> None:
    answer = server.client(issuer.token(**wrong)).post("/mcp", json=PING)
    assert answer.status_code == 401
    told = "https://kg.example.org/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{told}"' in answer.headers["www-authenticate"]


def test_a_token_without_the_scope_is_refused(server: Running, issuer: Issuer) -> None:
    for scope in ("write", None, [["read"], 1]):
        assert server.client(issuer.token(scope=scope)).post("/mcp", json=PING).status_code == 403


def test_an_issuer_that_sends_no_type_is_served_by_a_setting(graph: Path, issuer: Issuer) -> None:
    oauth = OAuthSettings(issuer=issuer.url, types=("at+jwt", "JWT"))
    with running(graph, HttpSettings(url=AUDIENCE), oauth) as server:
        for kind, status in ((None, 200), ("JWT", 200), ("at+jwt", 200), ("logout+jwt", 401), ("dpop+jwt", 401)):
            token = issuer.token(header={"typ": kind})
            assert server.client(token).post("/mcp", json=PING).status_code == status, kind


def test_a_caller_is_the_user_of_a_program_and_not_the_program(
    graph_copy: Path, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_time(monkeypatch)
    secret = Tokens(graph_copy).create("ann")
    with running(graph_copy, HttpSettings(url=AUDIENCE, per_minute=30), OAuthSettings(issuer=issuer.url)) as server:
        programs = [issuer.token(sub="ann", client_id=f"program-{n}") for n in range(5)]
        assert [server.client(token).post("/mcp", json=PING).status_code for token in programs][-1] == 429
        assert server.client(issuer.token(sub="ben", client_id="program-0")).post("/mcp", json=PING).status_code == 200
        assert server.client(secret).post("/mcp", json=PING).status_code == 200


def test_no_header_makes_another_caller(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_time(monkeypatch)
    with running(graph, HttpSettings(per_minute=30)) as server:
        names = ("x-forwarded-for", "forwarded", "x-real-ip", "cf-connecting-ip", "true-client-ip", "x-client-ip")
        seen = [
            server.client().post("/mcp", json=PING, headers={name: f"10.0.0.{n}"}).status_code
            for n in range(2)
            for name in names
        ]
        assert seen[0] == 200
        assert seen[-1] == 429


def test_tokens_that_are_none_are_refused(server: Running, issuer: Issuer) -> None:
    whole = issuer.token()
    head, body, signature = whole.split(".")
    deep = base64.urlsafe_b64encode(b"[" * 10_000).decode()
    symmetric = b'{"alg":"HS256","kid":"rsa","typ":"at+jwt"}'
    shared = f"{base64.urlsafe_b64encode(symmetric).decode().rstrip('=')}.{body}"
    for encoding in (Encoding.PEM, Encoding.DER):  # use the public key as a shared secret
        public = KEY.public_key().public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)
        forged = base64.urlsafe_b64encode(hmac.digest(public, shared.encode(), "sha256")).decode().rstrip("=")
        assert server.client(f"{shared}.{forged}").post("/mcp", json=PING).status_code == 401
    for token in (
        f"{deep}.e30.",
        f"{head}.{deep}.{signature}",
        f"{whole}.x.y",
        whole.replace(".", ".."),
        "a.b.c",
        "..",
        "e30.e30.",
        f"{head}.{body}.",
        f"{head}.{body}x.{signature}",
        "x" * 14_000,
    ):
        assert server.client(token).post("/mcp", json=PING).status_code == 401


def test_what_the_server_is_stands_where_clients_look_for_it(server: Running, issuer: Issuer) -> None:
    told = server.client().get("/.well-known/oauth-protected-resource/mcp").json()
    assert told["resource"] == AUDIENCE
    assert told["authorization_servers"] == [issuer.url]
    assert told["scopes_supported"] == ["read", "build", "agents", "run"]


def test_forged_tokens_hold_up_nobody_while_the_keys_cannot_be_had(
    graph_copy: Path, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "FETCH_SECONDS", 3.0)  # long enough for a busy machine to send the request
    secret = Tokens(graph_copy).create("laptop")
    go, asked = threading.Event(), []

    def silent(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        go.wait(120)
        body(b"", 503)(handler)

    with (
        publishing(silent) as address,
        running(graph_copy, HttpSettings(url=AUDIENCE), OAuthSettings(issuer=issuer.url, jwks=address)) as server,
        ThreadPoolExecutor(40) as pool,
    ):
        forged = [
            pool.submit(server.client(issuer.token(key=OTHER, kid=f"k{n}")).post, "/mcp", json=PING) for n in range(40)
        ]
        while not asked and not all(answer.done() for answer in forged):
            time.sleep(0.01)
        answer = server.client(secret).post("/mcp", json=call("graph_schema"))
        assert answer.json()["result"]["isError"] is False
        assert {answer.result().status_code for answer in forged} == {401}
        assert len(asked) == 1
        go.set()


def test_an_address_with_too_many_bad_tokens_is_refused_before_they_are_looked_at(
    graph_copy: Path, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_time(monkeypatch)
    secret = Tokens(graph_copy).create("laptop")
    with running(graph_copy, HttpSettings(url=AUDIENCE, per_minute=30), OAuthSettings(issuer=issuer.url)) as server:
        good = issuer.token()
        assert server.client(good).post("/mcp", json=PING).status_code == 200
        forged = [server.client(issuer.token(key=OTHER)).post("/mcp", json=PING).status_code for _ in range(6)]
        assert (forged[0], forged[-1]) == (401, 429)
        assert server.client(issuer.token(jti="new")).post("/mcp", json=PING).status_code == 429
        assert server.client(good).post("/mcp", json=PING).status_code == 200
        assert server.client(secret).post("/mcp", json=PING).status_code == 200


async def test_keys_hold_while_the_issuer_is_gone_and_one_fetch_is_under_way_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fetched: list[int] = []
    gone = False

    async def fetch(issuer: str, _jwks: str | None) -> dict[str, jwt.PyJWK]:
        fetched.append(1)
        if gone:
            raise OSError(issuer)
        return {"rsa": jwt.PyJWK({**PUBLISHED["rsa"], "kid": "rsa"})}

    monkeypatch.setattr(oauth, "_fetched", fetch)
    monkeypatch.setattr(oauth, "PAUSE_SECONDS", 0.0)
    issuer = oauth.Issuer("https://issuer.example.org", AUDIENCE, "https://issuer.example.org/keys")
    token = jwt.encode(
        {"iss": issuer.issuer, "aud": AUDIENCE, "sub": "u", "exp": FUTURE},
        KEY,
        "RS256",
        {"kid": "rsa", "typ": "at+jwt"},
    )
    assert all(await asyncio.gather(*(issuer.verify(token) for _ in range(5))))
    assert len(fetched) == 1
    gone = True
    monkeypatch.setattr(oauth, "FRESH_SECONDS", 0.0)
    assert await issuer.verify(token)
    monkeypatch.setattr(oauth, "VALID_SECONDS", 0.0)
    assert await issuer.verify(token) is None


Answer = Callable[[BaseHTTPRequestHandler], None]


@contextlib.contextmanager
def publishing(*answers: Answer) -> Iterator[str]:
    """Yields an address that returns these answers in order, and then repeats the last one."""
    left = list(answers)

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.0"

        def do_GET(self) -> None:
            with contextlib.suppress(OSError):
                (left.pop(0) if len(left) > 1 else left[0])(self)

    with Served(Handler) as served:
        yield served.url


def body(value: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, text in headers.items():
            handler.send_header(name.replace("_", "-"), text)
        handler.end_headers()
        handler.wfile.write(value)

    return answer


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b" " * 65_536)


def trickling(handler: BaseHTTPRequestHandler) -> None:
    """Sends endless headers, one byte at a time."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-a: ")
    while not STOPPED.wait(0.02):
        handler.wfile.write(b"a")


STOPPED = threading.Event()
GOOD = body(json.dumps({"keys": [{**PUBLISHED["rsa"], "kid": "rsa"}]}).encode())


@pytest.mark.parametrize(
    "bad",
    [
        endless,
        trickling,
        body(b"", 302, location="/elsewhere"),
        body(b"[" * 100_000),
        body(b"[]"),
        body(b'{"keys": [{"kty": "RSA", "alg": ["RS256"], "kid": "rsa", "n": 5, "e": "AQAB"}]}'),
        body(b"\x1f\x8b" + bytes(100), content_encoding="gzip"),
        body(b"\xff\xfe{"),
    ],
)
async def test_keys_that_cannot_be_used_open_nothing_and_are_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, bad: Answer
) -> None:
    monkeypatch.setattr(oauth, "FETCH_SECONDS", 1.0)
    monkeypatch.setattr(oauth, "PAUSE_SECONDS", 0.0)
    STOPPED.clear()
    with publishing(bad, GOOD) as address:
        checked = oauth.Issuer("https://issuer.example.org", AUDIENCE, f"{address}/keys")
        claims = {"iss": checked.issuer, "aud": AUDIENCE, "sub": "u", "exp": FUTURE}
        token = jwt.encode(claims, KEY, "RS256", {"kid": "rsa", "typ": "at+jwt"})
        assert await checked.verify(token) is None
        monkeypatch.setattr(oauth, "FETCH_SECONDS", 30.0)
        found = await checked.verify(token) or await checked.verify(token)
        STOPPED.set()
    assert found is not None


async def test_metadata_cannot_name_keys_that_others_could_change_in_transit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for keys in ("http://192.0.2.1/keys", "file:///etc/passwd", 7, None):
        named: list[bytes] = [b""]
        with publishing(lambda handler, named=named: body(named[0])(handler)) as address:  # type: ignore[misc]
            named[0] = json.dumps({"issuer": address, "jwks_uri": keys}).encode()
            claims = {"iss": address, "aud": AUDIENCE, "exp": FUTURE}
            token = jwt.encode(claims, KEY, "RS256", {"kid": "rsa", "typ": "at+jwt"})
            assert await oauth.Issuer(address, AUDIENCE).verify(token) is None
        assert f"publishes its keys at {str(keys)!a}, which is not an https address" in caplog.text
