"""Tests access to pages with a token, sent as a header or exchanged for a cookie. Also tests requests from other
sites."""

import hashlib
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest

from tests.serve.http_server import Running, running, without_time
from xkg.config import HttpSettings, LlmSettings, ServeAgentSettings
from xkg.serve.http.tokens import Tokens
from xkg.web.access.guard import own_path

OWN = {"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}
HTML = {"accept": "text/html"}
NAMES = (f"ada-{number}" for number in count())


@pytest.fixture
def kg(web_graph_copy: Path) -> Path:
    return web_graph_copy


@pytest.fixture
def closed(kg: Path) -> Iterator[Running]:
    """Provides a server that requires a token. Each test has a separate server, because failed sign-ins are counted."""
    Tokens(kg).create("first")
    with running(kg, HttpSettings(per_minute=0), llm=LlmSettings(model="none")) as server:
        yield server


@pytest.fixture
def token(kg: Path) -> str:
    return Tokens(kg).create(next(NAMES))


def sign_in(server: Running, token: str, after: str = "/papers", **headers: str) -> httpx2.Response:
    body = urlencode({"token": token, "next": after}).encode()
    return server.client(**{**OWN, **headers}).post("/sign-in", content=body)


def cookie(answer: httpx2.Response) -> str:
    return answer.headers["set-cookie"].partition(";")[0]


def test_who_shows_no_token_is_sent_to_sign_in_or_told(closed: Running) -> None:
    answer = closed.client(**HTML).get("/papers?q=stein")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=%2Fpapers%3Fq%3Dstein")
    form = closed.client(**HTML).get(answer.headers["location"])
    assert (form.status_code, "graph-name" in form.text) == (200, False)
    program = closed.client(accept="text/csv").get("/cypher.csv?name=papers-by-year")
    assert (program.status_code, program.headers["www-authenticate"]) == (401, "Bearer")


def test_who_may_run_agents_alone_builds_nothing(kg: Path) -> None:
    token = Tokens(kg).create(next(NAMES), ["read", "build", "agents"])
    agents = ServeAgentSettings(allowed=True)
    with running(kg, HttpSettings(per_minute=0), llm=LlmSettings(model="none"), agents=agents) as server:
        answer = server.client(token, **OWN, **HTML).post("/builds", content=b"paper=1608.04471")
    assert answer.status_code == 403


def test_a_token_is_exchanged_once_for_a_cookie_that_no_script_reads(closed: Running, kg: Path) -> None:
    name = next(NAMES)
    token = Tokens(kg).create(name)
    answer = sign_in(closed, token)
    assert (answer.status_code, answer.headers["location"]) == (303, "/papers")
    attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/"} <= attributes
    assert token not in answer.headers["set-cookie"]
    session = cookie(answer)
    assert closed.client(**HTML, cookie=session).get("/papers").status_code == 200
    stored = b"".join(path.read_bytes() for path in kg.glob("sessions.sqlite*"))
    assert not [secret for secret in (token, session.partition("=")[2]) if secret.encode() in stored]
    Tokens(kg).revoke(name)
    assert closed.client(**HTML, cookie=session).get("/papers").status_code == 303


def test_signing_out_ends_the_session_on_the_server(closed: Running, token: str) -> None:
    session = cookie(sign_in(closed, token))
    closed.client(**OWN, cookie=session).post("/sign-out")
    assert closed.client(**HTML, cookie=session).get("/papers").status_code == 303


@pytest.mark.parametrize("wrong", ["", "xkg_wrong", "x" * 20_000])
def test_a_wrong_token_begins_no_session(closed: Running, wrong: str) -> None:
    answer = sign_in(closed, wrong)
    assert (answer.status_code, "set-cookie" in answer.headers, "graph-name" in answer.text) == (403, False, False)


def test_a_token_that_may_only_build_sees_nothing(closed: Running, kg: Path) -> None:
    builder = Tokens(kg).create("builder", ("build",))
    assert sign_in(closed, builder).status_code == 403
    assert closed.client(builder, **HTML).get("/papers").status_code == 303


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_forms_of_other_pages_are_refused(closed: Running, token: str, site: str) -> None:
    answer = sign_in(closed, token, **{"sec-fetch-site": site})
    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


def test_an_old_browser_is_known_by_its_origin(closed: Running, token: str) -> None:
    body = urlencode({"token": token}).encode()
    form = {"content-type": OWN["content-type"]}
    for headers, status in (({"origin": closed.base}, 303), ({"origin": "http://localhost:1"}, 403), ({}, 403)):
        assert closed.client(**form, **headers).post("/sign-in", content=body).status_code == status


@pytest.mark.parametrize(
    "path", ["//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "", "/a\nb"]
)
def test_nobody_is_sent_elsewhere(path: str) -> None:
    assert own_path(path) == "/"


def test_pages_of_an_open_graph_need_nothing(pages: Running) -> None:
    answer = pages.client(**HTML).get("/papers")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_link_elsewhere_does_not_ask_the_model(pages: Running) -> None:
    address = "/search?q=repulsive+force&verify=1"
    asked = pages.client(**HTML, **{"sec-fetch-site": "same-origin"}).get(address)
    assert "not verified" in asked.text
    linked = pages.client(**HTML, **{"sec-fetch-site": "cross-site"}).get(address)
    assert "Press Search to verify" in linked.text
    assert "not verified" not in linked.text


@pytest.mark.parametrize(
    "path", ["/builds/99999999999999999999999", "/papers?page=x", "/papers?level=best", "/?order=up"]
)
def test_an_address_that_means_nothing_says_so(pages: Running, path: str) -> None:
    answer = pages.client(**HTML).get(path)
    assert answer.status_code in (400, 404)
    assert "This page cannot be shown" in answer.text


def test_without_the_extra_there_is_mcp_alone(web_graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.web.require_web.has_extra", lambda *_: False)
    with running(web_graph, llm=LlmSettings(model="none")) as server:
        assert server.client(**HTML).get("/").status_code == 404
        assert server.client().get("/healthz").status_code == 200


@pytest.mark.parametrize("path", ["/static/../site.py", "/static/%2e%2e/app.py", "/static/none.css"])
def test_only_our_files_are_served(pages: Running, path: str) -> None:
    assert pages.client().get(path).status_code == 404


def test_tokens_that_nobody_has_count_for_their_address(web_graph_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_time(monkeypatch)
    token = Tokens(web_graph_copy).create("ada")
    with running(web_graph_copy, HttpSettings(per_minute=60), llm=LlmSettings(model="none")) as server:
        session = cookie(sign_in(server, token))
        tried = [server.client(authorization="Bearer forged").get("/papers").status_code for _ in range(8)]
        assert (tried[0], tried[-1]) == (401, 429)
        assert server.client(cookie=session).get("/papers").status_code == 200
        assert server.client(authorization=f"Bearer {token}").get("/papers").status_code == 200
        (web_graph_copy / "sessions.sqlite").write_bytes(b"rubbish" * 1000)
        own = f"xkg-{hashlib.sha256(str(web_graph_copy.absolute()).encode()).hexdigest()[:8]}=x"
        damaged = server.client(**OWN, cookie=own).post("/sign-out")
        assert (damaged.status_code, "sessions.sqlite" in damaged.text) == (503, False)
