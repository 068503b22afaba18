"""Tests the form that runs a script over a technique's code: access, requests and results."""

import base64
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Browser, expect

from tests.serve.http_server import Running, running
from tests.serve.test_running import PNG
from tests.web.looking import looking
from xkg.config import HttpSettings, LlmSettings, ServeRunSettings
from xkg.serve.http.tokens import Tokens

HTML = {"accept": "text/html"}
FORM = {**HTML, "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'><script>alert(1)</script><circle r='9'/></svg>"
SCRIPT = f"""
import base64
open("figure-1.png", "wb").write(base64.b64decode({base64.b64encode(PNG).decode()!r}))
open("drawn.svg", "w").write({SVG!r})
open("a.txt", "w").write("<b>text</b>")
open("no.png", "wb").write(bytes(9))
print("<script>document.title = 'owned'</script>")
repulsive_force(6, 3)
"""


@pytest.fixture
def server(web_graph_copy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setenv("XKG_ENVIRONMENT__MAX_MB", "0")
    run = ServeRunSettings(allowed=True)
    with running(web_graph_copy, HttpSettings(per_minute=0), llm=LlmSettings(model="none"), run=run) as server:
        yield server


def page_of(server: Running, token: str) -> str:
    found = server.client(token, **HTML).get("/search?q=repulsive+force").text
    return "/technique/" + found.partition('href="/technique/')[2].partition('"')[0]


def test_a_script_is_run_and_its_pictures_are_shown(browser: Browser, server: Running, web_graph_copy: Path) -> None:
    token = Tokens(web_graph_copy).create("ada", ("read", "run"))
    with looking(browser, server.base) as page:
        page.goto(f"/sign-in?next={quote(page_of(server, token))}")
        page.locator("input[name=token]").fill(token)
        page.keyboard.press("Enter")
        page.get_by_text("Run a script on this code").click()
        script = page.locator("textarea[name=script]")
        assert "from implementation import *" in script.input_value()
        script.fill(SCRIPT)
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator("#outcome pre").first).to_contain_text("2.0")
        expect(page.locator("#outcome pre").first).to_contain_text("<script>document.title")
        expect(page.locator("#outcome img")).to_have_count(2)
        sizes = page.locator("#outcome img").evaluate_all("all => all.map(one => one.complete && one.naturalWidth)")
        assert sizes == [1, 40]
        expect(page.locator("#outcome")).to_contain_text("no.png")
        page.locator("#outcome summary").click()
        expect(page.locator("#outcome details pre")).to_have_text("<b>text</b>")
        assert script.input_value().strip() == SCRIPT.strip()
        script.fill("x = 1\nrepulsive_force(1, 0)")
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator("#run .notice.bad")).to_contain_text("ZeroDivisionError")
        expect(page.locator("#outcome pre").first).to_contain_text('"script.py", line 2')


def test_only_the_scope_and_our_own_page_run(server: Running, web_graph_copy: Path) -> None:
    tokens = Tokens(web_graph_copy)
    reader, runner = tokens.create("reader"), tokens.create("runner", ("read", "run"))
    address = page_of(server, reader)
    shown = server.client(reader, **HTML).get(address)
    assert ("scope run" in shown.text, "<textarea" in shown.text) == (True, False)
    body = urlencode({"script": "repulsive_force(6, 3)"}).encode()
    refused = server.client(reader, **FORM).post(address, content=body)
    assert ("scope run" in refused.text, 'id="outcome"' in refused.text) == (True, False)
    for elsewhere in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}, {}):
        headers = {**HTML, "content-type": "application/x-www-form-urlencoded", **elsewhere}
        assert server.client(runner, **headers).post(address, content=body).status_code == 403
    assert server.client(**FORM).post(address, content=body).status_code == 401
    answer = server.client(runner, **FORM).post(address, content=body)
    assert (answer.status_code, 'id="outcome"' in answer.text) == (200, True)
    policy = answer.headers["content-security-policy"]
    assert "img-src 'self' data:;" in policy
    assert "script-src 'self';" in policy
    assert "data:" not in server.client(runner, **HTML).get(address).headers["content-security-policy"]
    large = urlencode({"script": "#" * 40_000}).encode()
    assert server.client(runner, **FORM).post(address, content=large).status_code == 413
