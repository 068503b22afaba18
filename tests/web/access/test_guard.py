"""Who may see pages: tokens as a header, or exchanged once for a cookie; and requests that other pages make."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest

from tests.serve.http_server import Running, running
from xkg.config import HttpSettings, LlmSettings
from xkg.serve.http.tokens import Tokens
from xkg.web.access.guard import own_path

OWN = {"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}
HTML = {"accept": "text/html"}


@pytest.fixture
def tokens(web_graph_copy: Path) -> Tokens:
    return Tokens(web_graph_copy)


@pytest.fixture
def token(tokens: Tokens) -> str:
    return tokens.create("ada")


@pytest.fixture
def closed(web_graph_copy: Path, token: str) -> Iterator[Running]:
    """A server that wants a token."""
    assert token
    with running(web_graph_copy, HttpSettings(), llm=LlmSettings(model="none")) as server:
        yield server


def sign_in(server: Running, token: str, after: str = "/papers", **headers: str) -> httpx2.Response:
    body = urlencode({"token": token, "next": after}).encode()
    return server.client(**{**OWN, **headers}).post("/sign-in", content=body)


def cookie(answer: httpx2.Response) -> str:
    return answer.headers["set-cookie"].partition(";")[0]


def test_a_browser_without_a_session_is_sent_to_sign_in(closed: Running) -> None:
    answer = closed.client(**HTML).get("/papers?q=stein")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=%2Fpapers%3Fq%3Dstein"
    assert closed.client(**HTML).get(answer.headers["location"]).status_code == 200


def test_a_program_without_a_token_is_told(closed: Running) -> None:
    answer = closed.client(accept="text/csv").get("/cypher.csv?name=papers-by-year")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_token_is_exchanged_once_for_a_cookie_that_no_script_reads(closed: Running, token: str) -> None:
    answer = sign_in(closed, token)
    assert (answer.status_code, answer.headers["location"]) == (303, "/papers")
    attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/"} <= attributes
    assert token not in answer.headers["set-cookie"]
    assert closed.client(**HTML, cookie=cookie(answer)).get("/papers").status_code == 200


def test_the_header_of_mcp_opens_pages_too(closed: Running, token: str) -> None:
    assert closed.client(token, **HTML).get("/papers").status_code == 200


@pytest.mark.parametrize("wrong", ["", "xkg_wrong", "x" * 20_000])
def test_a_wrong_token_begins_no_session(closed: Running, wrong: str) -> None:
    answer = sign_in(closed, wrong)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_a_session_ends_with_its_token(closed: Running, tokens: Tokens, token: str) -> None:
    session = cookie(sign_in(closed, token))
    tokens.revoke("ada")
    tokens.create("grace")
    assert closed.client(**HTML, cookie=session).get("/papers").status_code == 303


def test_nothing_of_the_graph_is_shown_before_signing_in(closed: Running, web_graph_copy: Path) -> None:
    assert "graph-name" not in closed.client(**HTML).get("/sign-in").text
    assert "graph-name" not in sign_in(closed, "xkg_wrong").text
    (web_graph_copy / "sessions.sqlite").write_bytes(b"rubbish" * 1000)
    own = f"xkg-{hashlib.sha256(str(web_graph_copy.absolute()).encode()).hexdigest()[:8]}=x"
    damaged = closed.client(**OWN, cookie=own).post("/sign-out")
    assert damaged.status_code == 503
    assert "sessions.sqlite" not in damaged.text


def test_signing_out_ends_the_session_on_the_server(closed: Running, token: str) -> None:
    session = cookie(sign_in(closed, token))
    closed.client(**OWN, cookie=session).post("/sign-out")
    assert closed.client(**HTML, cookie=session).get("/papers").status_code == 303


def test_a_token_that_may_only_build_sees_nothing(closed: Running, tokens: Tokens) -> None:
    builder = tokens.create("builder", ("build",))
    assert sign_in(closed, builder).status_code == 403
    assert closed.client(builder, **HTML).get("/papers").status_code == 303


def test_no_session_is_stored_as_it_is_shown(closed: Running, token: str, web_graph_copy: Path) -> None:
    secret = cookie(sign_in(closed, token)).partition("=")[2]
    stored = b"".join(path.read_bytes() for path in web_graph_copy.glob("sessions.sqlite*"))
    assert secret.encode() not in stored
    assert token.encode() not in stored


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
    ],
)
def test_forms_of_other_pages_are_refused(closed: Running, token: str, headers: dict[str, str]) -> None:
    answer = sign_in(closed, token, **headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_an_old_browser_is_known_by_its_origin(closed: Running, token: str) -> None:
    body = urlencode({"token": token}).encode()
    form = {"content-type": OWN["content-type"]}
    assert closed.client(**form, origin=closed.base).post("/sign-in", content=body).status_code == 303
    assert closed.client(**form, origin="http://localhost:1").post("/sign-in", content=body).status_code == 403
    assert closed.client(**form).post("/sign-in", content=body).status_code == 403


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
    assert "press Search to ask for it" in linked.text
    assert "not verified" not in linked.text


def test_mcp_answers_as_before(pages: Running) -> None:
    assert pages.client().get("/mcp").status_code == 405
    assert json.loads(pages.client().get("/healthz").text) == {"status": "alive"}


@pytest.mark.parametrize(
    "path", ["/builds/99999999999999999999999", "/papers?page=x", "/papers?level=best", "/?order=up"]
)
def test_an_address_that_means_nothing_says_so(pages: Running, path: str) -> None:
    answer = pages.client(**HTML).get(path)
    assert answer.status_code in (400, 404)
    assert "That cannot be shown" in answer.text


def test_without_the_extra_there_is_mcp_alone(web_graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.web.require_web.has_extra", lambda *_: False)
    with running(web_graph, llm=LlmSettings(model="none")) as server:
        assert server.client(**HTML).get("/").status_code == 404
        assert server.client().get("/healthz").status_code == 200


@pytest.mark.parametrize("path", ["/static/../site.py", "/static/%2e%2e/app.py", "/static/none.css"])
def test_only_our_files_are_served(pages: Running, path: str) -> None:
    assert pages.client().get(path).status_code == 404


def test_tokens_that_nobody_has_count_for_their_address(web_graph_copy: Path, token: str) -> None:
    http = HttpSettings(per_minute=60)
    with running(web_graph_copy, http, llm=LlmSettings(model="none")) as server:
        session = cookie(sign_in(server, token))
        tried = [server.client(authorization="Bearer forged").get("/papers").status_code for _ in range(8)]
        assert (tried[0], tried[-1]) == (401, 429)
        assert server.client(cookie=session).get("/papers").status_code == 200
        assert server.client(authorization=f"Bearer {token}").get("/papers").status_code == 200
