"""Tests the tool for implementing a method, over stdio and over HTTP with tokens."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.agents.codification.runs import (
    METHOD,
    MODEL,
    MOMENTUM,
    TRAIN,
    AskedForChecks,
    edit,
    final,
    function,
    parts,
)
from tests.serve.http_server import Running, running
from tests.serve.test_building import ask, connected, ended, refused, stdio
from xkg.config import LlmSettings, ServeAgentSettings, ServeBuildSettings
from xkg.serve.http.tokens import Tokens

TASK = {"run": "python train.py", "metric": r"final loss: ([\d.]+):min"}


@pytest.fixture
def starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XKG_SERVE__ROOTS", str(tmp_path / "open"))
    monkeypatch.setenv("XKG_LLM__MODEL", "o4-mini")
    monkeypatch.setenv("XKG_LLM__MAX_COST", "1")
    monkeypatch.setenv("XKG_ENVIRONMENT__MAX_MB", "0")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "open" / "starter"
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(TRAIN)
    (folder / "model.py").write_text(MODEL)
    return folder


@pytest.mark.product("a run of implement over a real server; tests/serve/jobs has the jobs", every=True)
async def test_an_agent_implements_a_method_and_its_patch_comes_back(
    starter: Path, graph_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AskedForChecks() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        endpoint.answers = [
            parts(),
            edit(function("train", MOMENTUM)),
            final(),
        ]
        async with Client(stdio(graph_copy, "--allow-agents")) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"implement", "job_status", "cancel_job"} <= names
            assert "build" not in names
            assert "by an agent" in (client.instructions or "")
            job = await ask(client, "implement", method=METHOD, starter="starter", **TASK)
            assert (job["kind"], job["asked_by"]) == ("implement", "local user")
            row = await ended(client, job["job"])
            assert (row["state"], row["error"]) == ("done", ""), row
            done: dict[str, Any] = row["implementation"]
            assert (done["result"], done["changed_files"]) == ("A", ["train.py"])
            assert "+        velocity = 0.5 * velocity + gradient(x)" in done["patch"]
            assert row["dollars"] > 0
            shown = await client.call_tool("job_status", {"job": job["job"]})
            assert "class A" in shown.content[0].text  # type: ignore[union-attr]
    assert (starter / "train.py").read_text() == TRAIN


@pytest.fixture
def server(graph_copy: Path, tmp_path: Path, starter: Path) -> Iterator[Running]:  # noqa: ARG001
    with running(
        graph_copy,
        build=ServeBuildSettings(allowed=True),
        agents=ServeAgentSettings(allowed=True),
        llm=LlmSettings(model="o4-mini", max_cost=1),
        roots=(tmp_path / "open",),
    ) as server:
        yield server


async def test_what_a_stranger_may_not_name_starts_nothing(server: Running, graph_copy: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("a secret of the machine that nobody may read")
    token = Tokens(graph_copy).create("agent", ("read", "agents"))
    async with connected(server, token) as client:
        for method in ("/etc/passwd", str(tmp_path / "secret.txt"), "../secret.txt", "--help", "file:///etc/passwd"):
            await refused(client, "implement", method=method, starter="starter", **TASK)
        for starter in ("/", "..", "ext::sh -c id", "file:///", "http://a/b/c", "https://127.0.0.1/o/n", "--x"):
            await refused(client, "implement", method=METHOD, starter=starter, **TASK)
        for data in ({"data": "/etc"}, {"data": "../.."}):
            await refused(client, "implement", method=METHOD, starter="starter", data=data, **TASK)
        for related in ("/etc/passwd", "../secret.txt", "model.py/../../secret.txt", "~/.ssh/id_rsa"):
            await refused(client, "implement", method=METHOD, starter="starter", related=[related], **TASK)
        assert (await ask(client, "job_status"))["jobs"] == []
