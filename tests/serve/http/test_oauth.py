"""OAuth: tokens of an issuer that this test runs on the loopback, good ones and every kind of wrong one."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.serve.http_server import PING, Running, call, running
from xkg.config import HttpSettings, OAuthSettings
from xkg.serve.http import oauth
from xkg.serve.http.tokens import Tokens

import httpx2  # isort: skip

AUDIENCE = "https://kg.example.org/mcp"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())


class Issuer:
    """Publishes its metadata and the public halves of its keys."""

    def __init__(self) -> None:
        published = {
            "rsa": json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key())),
            "ec": json.loads(jwt.algorithms.ECAlgorithm.to_jwk(CURVE.public_key())),
        }
        self.asked: list[str] = []
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked.append(self.path)
                said: dict[str, Any] | None = None
                if self.path == "/.well-known/oauth-authorization-server/realm":
                    said = {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"}
                elif self.path == "/realm/keys":
                    said = {"keys": [{**key, "kid": kid, "use": "sig"} for kid, key in published.items()]}
                self.send_response(200 if said else 404)
                self.end_headers()
                self.wfile.write(json.dumps(said).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/realm"

    def token(self, *, key: Any = KEY, algorithm: str = "RS256", kid: str | None = "rsa", **claims: Any) -> str:
        whole = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "user-1",
            "client_id": "agent",
            "scope": "read",
            "exp": int(time.time()) + 600,
            **claims,
        }
        stated = {name: value for name, value in whole.items() if value is not None}
        return jwt.encode(stated, key, algorithm=algorithm, headers={"kid": kid} if kid else None)


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    issuer = Issuer()
    thread = threading.Thread(target=issuer.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield issuer
    issuer.server.shutdown()
    issuer.server.server_close()


@pytest.fixture(scope="module")
def server(graph: Path, issuer: Issuer) -> Iterator[Running]:
    with running(graph, HttpSettings(url=AUDIENCE), OAuthSettings(issuer=issuer.url)) as started:
        yield started


async def test_a_session_with_a_token_of_the_issuer(server: Running, issuer: Issuer) -> None:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {issuer.token()}"}) as web,
        Client(streamable_http_client(server.url, http_client=web)) as client,
    ):
        assert not (await client.call_tool("graph_schema", {})).is_error


@pytest.mark.parametrize(
    "good",
    [
        {},
        {"scope": None, "scp": ["read", "write"]},
        {"scope": "write read"},
        {"aud": ["https://other.example.org", AUDIENCE]},
        {"key": CURVE, "algorithm": "ES256", "kid": "ec"},
        {"client_id": None},
    ],
)
def test_tokens_for_this_server_open_it(server: Running, issuer: Issuer, good: dict[str, Any]) -> None:
    assert server.client(issuer.token(**good)).post("/mcp", json=PING).status_code == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"exp": int(time.time()) - 3600},
        {"exp": None},
        {"nbf": int(time.time()) + 3600},
        {"aud": "https://other.example.org/mcp"},
        {"aud": None},
        {"iss": "https://evil.example.com"},
        {"iss": None},
        {"key": OTHER},
        {"kid": "unknown"},
        {"kid": None},
        {"kid": "ec"},
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
    for scope in ({"scope": "write"}, {"scope": None}, {"scope": None, "scp": []}, {"scope": "reader"}):
        assert server.client(issuer.token(**scope)).post("/mcp", json=PING).status_code == 403


def test_tokens_that_are_none_are_refused(server: Running, issuer: Issuer) -> None:
    whole = issuer.token()
    head, body, signature = whole.split(".")
    for token in ("a.b.c", "..", "e30.e30.", f"{head}.{body}.", f"{head}.{body}x.{signature}", "x" * 14_000):
        assert server.client(token).post("/mcp", json=PING).status_code == 401


def test_unknown_keys_do_not_make_the_server_ask_again_and_again(server: Running, issuer: Issuer) -> None:
    server.client(issuer.token()).post("/mcp", json=PING)
    before = len(issuer.asked)
    for n in range(10):
        server.client(issuer.token(kid=f"k{n}")).post("/mcp", json=PING)
    assert len(issuer.asked) <= before + 1


def test_what_the_server_is_stands_where_clients_look_for_it(server: Running, issuer: Issuer) -> None:
    told = server.client().get("/.well-known/oauth-protected-resource/mcp").json()
    assert told["resource"] == AUDIENCE
    assert told["authorization_servers"] == [issuer.url]
    assert told["scopes_supported"] == ["read", "build", "agents"]


def test_tokens_of_the_graph_open_it_too(graph_copy: Path, issuer: Issuer) -> None:
    secret = Tokens(graph_copy).create("laptop")
    with running(graph_copy, HttpSettings(url=AUDIENCE), OAuthSettings(issuer=issuer.url)) as server:
        assert server.client(secret).post("/mcp", json=PING).status_code == 200
        assert server.client(issuer.token()).post("/mcp", json=PING).status_code == 200


def test_an_issuer_that_does_not_answer_lets_nobody_in(graph: Path, issuer: Issuer) -> None:
    gone = OAuthSettings(issuer="http://127.0.0.1:9/realm")
    with running(graph, HttpSettings(url=AUDIENCE), gone) as server:
        assert server.client(issuer.token(iss=gone.issuer)).post("/mcp", json=PING).status_code == 401
        assert server.client().get("/healthz").status_code == 200


class Silent:
    """An address of keys that takes every connection and answers when it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked = 0
        silent = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                silent.asked += 1
                silent.go.wait(120)
                with contextlib.suppress(OSError):
                    self.send_response(503)
                    self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"


@pytest.fixture
def silent() -> Iterator[Silent]:
    silent = Silent()
    threading.Thread(target=silent.server.serve_forever, args=(0.05,), daemon=True).start()
    yield silent
    silent.go.set()
    silent.server.shutdown()
    silent.server.server_close()


def test_forged_tokens_hold_up_nobody_while_the_keys_cannot_be_had(
    graph_copy: Path, issuer: Issuer, silent: Silent
) -> None:
    secret = Tokens(graph_copy).create("laptop")
    hanging = OAuthSettings(issuer=issuer.url, jwks=silent.url)
    with (
        running(graph_copy, HttpSettings(url=AUDIENCE), hanging) as server,
        ThreadPoolExecutor(40) as pool,
    ):
        forged = [
            pool.submit(server.client(issuer.token(key=OTHER, kid=f"k{n}")).post, "/mcp", json=PING) for n in range(40)
        ]
        while not silent.asked:
            time.sleep(0.01)
        answer = server.client(secret).post("/mcp", json=call("graph_schema"))
        assert answer.json()["result"]["isError"] is False
        assert {answer.result().status_code for answer in forged} == {401}
        assert silent.asked == 1


def test_an_address_with_too_many_bad_tokens_is_refused_before_they_are_looked_at(
    graph_copy: Path, issuer: Issuer
) -> None:
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

    def fetch(address: str, _until: float) -> dict[str, jwt.PyJWK]:
        fetched.append(1)
        if gone:
            raise OSError(address)
        return {"rsa": jwt.PyJWK({**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key())), "kid": "rsa"})}

    monkeypatch.setattr(oauth, "_fetched", fetch)
    monkeypatch.setattr(oauth, "PAUSE_SECONDS", 0.0)
    issuer = oauth.Issuer("https://issuer.example.org", AUDIENCE, "https://issuer.example.org/keys")
    token = jwt.encode(
        {"iss": issuer.issuer, "aud": AUDIENCE, "sub": "u", "exp": int(time.time()) + 60}, KEY, "RS256", {"kid": "rsa"}
    )
    assert all(await asyncio.gather(*(issuer.verify(token) for _ in range(5))))
    assert len(fetched) == 1
    gone = True
    monkeypatch.setattr(oauth, "FRESH_SECONDS", 0.0)
    assert await issuer.verify(token)
    monkeypatch.setattr(oauth, "VALID_SECONDS", 0.0)
    assert await issuer.verify(token) is None
