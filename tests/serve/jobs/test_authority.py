"""Tests which callers may see and change jobs. Covers every tool and page with every set of scopes, for the caller's
own jobs and those of others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from httpx2 import Response

from tests.serve.http import test_oauth
from tests.serve.http_server import Asking, Running, call, running
from xkg.config import HttpSettings, LlmSettings, OAuthSettings, ServeAgentSettings, ServeBuildSettings
from xkg.files import file_lock, private_folder
from xkg.serve.http.tokens import SCOPES, Scope, Tokens
from xkg.serve.jobs.table import JobTable, Kind

SETS: list[tuple[Scope, ...]] = [
    (),
    ("read",),
    ("read", "build"),
    ("read", "agents"),
    ("read", "admin"),
    ("build", "agents", "admin"),
]
NEEDS: dict[Kind, Scope] = {"build": "build", "implement": "agents"}
issuer = test_oauth.issuer
NOBODYS = 999
HTML = {"accept": "text/html"}


@pytest.fixture
def kg(graph_copy: Path) -> Iterator[Path]:
    """Yields a graph whose jobs have to wait, because the lock on their turn is taken."""
    private_folder(graph_copy / "jobs")
    with file_lock(graph_copy / "jobs" / "turn.lock"):
        yield graph_copy


@pytest.fixture
def server(kg: Path, tmp_path: Path) -> Iterator[Running]:
    with serving(kg, tmp_path) as server:
        yield server


def serving(kg: Path, tmp_path: Path, **more: Any) -> Any:
    (tmp_path / "open" / "starter").mkdir(parents=True, exist_ok=True)
    return running(
        kg,
        HttpSettings(per_minute=0, **more.pop("http", {})),
        build=more.pop("build", ServeBuildSettings(allowed=True)),
        agents=ServeAgentSettings(allowed=True),
        llm=LlmSettings(model="o4-mini", max_cost=1),
        roots=(tmp_path / "open",),
        **more,
    )


def asked(client: Asking, kind: Kind, what: str) -> Response:
    """Starts a job that is about the word `what`."""
    if kind == "build":
        return client.post("/mcp", json=call("build", paper="1608.04471", repository=f"https://github.com/o/{what}"))
    task = {"starter": "starter", "run": "python train.py", "metric": "loss: (.*):min"}
    return client.post("/mcp", json=call("implement", method=f"a method that is about {what}", **task))


def tool(client: Asking, name: str, **arguments: Any) -> tuple[bool, str, dict[str, Any]]:
    """Returns whether a tool succeeds, its text, and its fields."""
    answer = client.post("/mcp", json=call(name, **arguments))
    if answer.status_code != 200:
        return False, answer.text, {}
    result = answer.json()["result"]
    fields = result.get("structuredContent") or {}
    return not result.get("isError"), result["content"][0]["text"], fields


def made(answer: Response) -> int:
    return int(answer.json()["result"]["structuredContent"]["job"])


def browser(server: Running, token: str) -> Asking | None:
    """Signs a browser in with a token, or returns None if the token is refused."""
    form = {"sec-fetch-site": "same-origin", "content-type": "application/x-www-form-urlencoded"}
    answer = server.client(**form).post("/sign-in", content=urlencode({"token": token, "next": "/builds"}).encode())
    if answer.status_code != 303:
        return None
    return server.client(**HTML, cookie=answer.headers["set-cookie"].partition(";")[0])


@pytest.mark.product("each set of scopes")
@pytest.mark.parametrize("scopes", SETS, ids=lambda scopes: "+".join(scopes) or "none")
def test_every_entry_point_gives_the_same_answer(server: Running, kg: Path, scopes: tuple[Scope, ...]) -> None:
    tokens = Tokens(kg)
    jobs: dict[tuple[str, Kind], int] = {}
    for owner in ("me", "other"):
        whole = server.client(tokens.create(owner, SCOPES))
        for kind in NEEDS:
            jobs[owner, kind] = made(asked(whole, kind, f"{owner}-{kind}"))
    tokens.revoke("me")
    secret = tokens.create("me", scopes)
    program = server.client(secret)

    def may_see(owner: str, kind: Kind) -> bool:
        """Implements the same policy a second time, independently."""
        return "read" in scopes and ("admin" in scopes or (owner == "me" and NEEDS[kind] in scopes))

    seen = {job for (owner, kind), job in jobs.items() if may_see(owner, kind)}
    holds_any = "read" in scopes and bool({"build", "agents", "admin"} & set(scopes))

    works, text, fields = tool(program, "job_status")
    assert works == holds_any
    assert {job["job"] for job in fields.get("jobs", ())} == seen
    assert "older" not in text
    nothing = tool(program, "job_status", job=NOBODYS)[1]
    no_end = tool(program, "cancel_job", job=NOBODYS)[1]

    viewers = [server.client(secret, **HTML)] + ([signed_in] if (signed_in := browser(server, secret)) else [])
    assert len(viewers) == 1 + ("read" in scopes)
    for viewer in viewers:
        listed = viewer.get("/builds")
        assert listed.status_code == (200 if "read" in scopes else 303)
        assert ("Costs are only shown for tokens" in listed.text) == ("read" in scopes and "admin" not in scopes)
        for (owner, kind), job in jobs.items():
            words, number = f"{owner}-{kind}", str(job)
            assert (words in listed.text) == (job in seen), (owner, kind)
            page = viewer.get(f"/builds/{job}")
            assert (page.status_code == 200) == (job in seen), (owner, kind)
            assert (words in page.text) == (job in seen), (owner, kind)
            if job not in seen:
                missing = viewer.get(f"/builds/{NOBODYS}")
                same = (missing.status_code, missing.text.replace(str(NOBODYS), number))
                assert (page.status_code, page.text) == same

    for (owner, kind), job in jobs.items():
        words, number = f"{owner}-{kind}", str(job)
        works, text, _ = tool(program, "job_status", job=job)
        assert (works, words in text) == (job in seen, job in seen), (owner, kind)
        if job not in seen:
            assert alike(text) == alike(nothing.replace(str(NOBODYS), number))
        works, text, fields = tool(program, "cancel_job", job=job)
        assert (works, words in text) == (job in seen, job in seen), (owner, kind)
        if job not in seen:
            assert alike(text) == alike(no_end.replace(str(NOBODYS), number))
        row = JobTable(kg / "jobs").get(job)
        assert row is not None
        assert row.state == ("cancelled" if job in seen else "queued"), (owner, kind)

    for kind, scope in NEEDS.items():
        answer = asked(program, kind, f"other-{kind}")
        if "read" in scopes and (scope in scopes or "admin" in scopes):
            fields = answer.json()["result"]["structuredContent"]
            assert fields["job"] not in jobs.values()
            assert (fields["asked_by"], fields["note"]) == ("me", "")
            again = asked(program, kind, f"other-{kind}").json()["result"]["structuredContent"]
            assert (again["job"], "started by an earlier request" in again["note"]) == (fields["job"], True)
        else:
            assert "structuredContent" not in answer.text


def alike(text: str) -> str:
    """Removes the lines that enclose a quoted error, because they contain a digest."""
    lines = text.splitlines()
    return "\n".join(line for line in lines if not line.startswith("<<<"))


def test_a_server_that_needs_no_token_shows_jobs_and_changes_none(server: Running, kg: Path) -> None:
    row, _ = JobTable(kg / "jobs").add("a paper", "", "local user", waiting=9, per_day=9)
    anybody = server.client(**HTML)
    assert "a paper" in anybody.get("/builds").text
    assert "a paper" in anybody.get(f"/builds/{row.id}").text
    assert "shown to tokens" not in anybody.get("/builds").text
    program = server.client()
    assert tool(program, "job_status", job=row.id)[0]
    assert "scope build" in tool(program, "cancel_job", job=row.id)[1]
    assert "scope build" in asked(program, "build", "x").text
    assert "scope agents" in asked(program, "implement", "x").text
    assert [each.state for each in JobTable(kg / "jobs").newest(9, lambda *_: True)[0]] == ["queued"]


def test_users_of_one_oauth_client_and_a_token_of_its_name_are_different_callers(
    kg: Path, tmp_path: Path, issuer: test_oauth.Issuer
) -> None:
    claims = {"scope": "read build", "client_id": "app"}
    oauth = OAuthSettings(issuer=issuer.url)
    with serving(kg, tmp_path, http={"url": test_oauth.AUDIENCE}, oauth=oauth) as server:
        callers = {
            "oauth:app": issuer.token(**claims, sub="app"),
            "oauth:user": issuer.token(**claims, sub="user"),
            "oauth client:app": issuer.token(**claims, sub=None),
            "app": Tokens(kg).create("app", ("read", "build")),
        }
        jobs = {name: made(asked(server.client(token), "build", "same")) for name, token in callers.items()}
        assert len(set(jobs.values())) == len(callers)
        for name, token in callers.items():
            _, _, fields = tool(server.client(token), "job_status")
            assert [(job["job"], job["asked_by"]) for job in fields["jobs"]] == [(jobs[name], name)]
            # The same caller now uses a browser.
            signed_in = browser(server, token)
            assert signed_in is not None
            answers = {other: signed_in.get(f"/builds/{job}").status_code for other, job in jobs.items()}
            assert answers == {other: 200 if other == name else 404 for other in callers}
        nameless = issuer.token(scope="read build", client_id=None, sub=None)
        assert asked(server.client(nameless), "build", "same").status_code == 401
