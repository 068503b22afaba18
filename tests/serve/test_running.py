"""Tests how clients of a server run scripts over code, with tokens, limits and results."""

import asyncio
import base64
import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from tests.serve.http_server import Running, running
from tests.serve.running.test_pictures import png
from tests.serve.test_building import connected, refused, stdio
from xkg.config import EmbeddingSettings, ServeRunSettings, ServeSettings, Settings
from xkg.errors import ConfigError, InputError, PackagesError
from xkg.sandbox.runner import Environment
from xkg.serve.http.tokens import Scope, Tokens
from xkg.serve.jobs.authority import OPERATOR, Caller
from xkg.serve.running import callers_runs
from xkg.serve.running.callers_runs import CallersRuns
from xkg.serve.service import Service

STEAM = "Steam Injection (SI)"
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")


@pytest.fixture(autouse=True)
def _without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_ENVIRONMENT__MAX_MB", "0")
    monkeypatch.setenv("XKG_LLM__MODEL", "none")


@pytest.fixture
def server(graph_copy: Path) -> Iterator[Running]:
    with running(graph_copy, run=ServeRunSettings(allowed=True)) as server:
        yield server


def settings(kg: Path, **bounds: Any) -> Settings:
    serve = ServeSettings(run=ServeRunSettings(allowed=True, **bounds))
    return Settings(kg=kg, embedding=EmbeddingSettings(threads=1), serve=serve)


@pytest.fixture
def runs(graph_copy: Path) -> Iterator[CallersRuns]:
    chosen = settings(graph_copy, per_day=2, seconds=10)
    service = Service(chosen)
    yield CallersRuns(service, chosen)
    service.close()


def texts(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_relative_to(folder / "jobs"))
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
        if not path.name.endswith((".lock", "-wal", "-shm"))
    }


async def test_a_client_gets_output_text_and_pictures_and_the_graph_stays_byte_for_byte(
    server: Running, graph_copy: Path
) -> None:
    token = Tokens(graph_copy).create("laptop", ("read", "run"))
    before = digests(graph_copy)
    script = f"""
import base64
open("figure.png", "wb").write(base64.b64decode({base64.b64encode(PNG).decode()!r}))
open("no.png", "wb").write(b"\\x89PNG\\r\\n\\x1a\\nno picture")
open("a.csv", "w").write("water,steam\\n1,1700\\n")
open("huge.png", "wb").write(b"\\x89PNG" + bytes(3 << 20))
open("evil\\n\\x1b[2Jname", "w").write("x")
print("\\x1b[31mred\\x1b[0m")
steam(2)
"""
    async with connected(server, token) as client:
        assert "run_code" in (client.instructions or "")
        result = await client.call_tool("run_code", {"id": STEAM, "script": script})
        assert not result.is_error, result.content
        images = [block for block in result.content if block.type == "image"]
        assert [(image.mime_type, base64.b64decode(image.data)) for image in images] == [("image/png", PNG)]
        fields = result.structured_content
        assert isinstance(fields, dict)
        assert "content" not in str(fields["files"])
        files = {file["name"]: file for file in fields["files"]}
        assert {name: file["media_type"] for name, file in files.items()} == {
            "figure.png": "image/png",
            "no.png": "application/octet-stream",
            "a.csv": "text/plain",
        }
        assert files["a.csv"]["written"] == "water,steam\n1,1700\n"
        assert (fields["ended"], fields["exit_code"]) == ("exited", 0)
        assert fields["output"] == "[31mred[0m\n3400\n"
        left_out = " ".join(fields["left_out"])
        assert "huge.png: it has 3,145,732 bytes" in left_out
        assert "evil ?[2Jname: its name contains more" in left_out
        assert "\x1b" not in texts(result)
        assert "3400" in texts(result)
        failed = await client.call_tool("run_code", {"id": STEAM, "script": "x = 1\nsteam(None) + x"})
        assert not failed.is_error
        assert "line 2" in texts(failed)
        assert "error: status 1: TypeError" in texts(failed)
    assert digests(graph_copy).items() >= before.items()


async def test_a_long_output_fits_into_the_budget_of_an_answer(server: Running, graph_copy: Path) -> None:
    token = Tokens(graph_copy).create("laptop", ("read", "run"))
    pixels = b"".join(b"\0" + bytes((7 * x * y) % 251 for x in range(300)) for y in range(200))
    script = f"open('p.png', 'wb').write({png(300, 200, pixels)!r})\n"
    script += "print('first')\nfor i in range(20_000): print(i)\nopen('long.txt', 'w').write('word ' * 9000)\n1 / 0"
    async with connected(server, token) as client:
        result = await client.call_tool("run_code", {"id": STEAM, "script": script})
        fields = result.structured_content
        assert isinstance(fields, dict)
        assert len(str(fields)) < 4 * 800 * 1.1
        assert sum(block.type == "image" for block in result.content) == 1
        assert [file["name"] for file in fields["files"]] == ["p.png", "long.txt"]
        assert fields["output"].startswith("first\n")
        assert fields["output"].endswith("ZeroDivisionError: division by zero\n")
        assert "the middle of output" in fields["cut"]


@pytest.mark.parametrize("scopes", [("read", "build", "agents"), ("read", "run"), ("read", "admin"), ("run",)])
async def test_the_scope_decides(server: Running, graph_copy: Path, scopes: tuple[Scope, ...]) -> None:
    token = Tokens(graph_copy).create("caller", scopes)
    if "read" not in scopes:
        asked = server.client(token).post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert asked.status_code == 403
        return
    async with connected(server, token) as client:
        if {"run", "admin"} & set(scopes):
            assert "1700" in texts(await client.call_tool("run_code", {"id": STEAM, "script": "steam(1)"}))
        else:
            assert "scope run" in await refused(client, "run_code", id="nothing of that name", script="steam(1)")
            assert not (graph_copy / "jobs").exists()


async def test_nobody_runs_without_a_token_over_http_and_a_flag_allows_it_over_stdio(
    server: Running, graph_copy: Path
) -> None:
    async with Client(server.url) as anybody:
        assert "scope run" in await refused(anybody, "run_code", id=STEAM, script="steam(1)")
    async with Client(stdio(graph_copy, "--allow-run")) as client:
        both = [client.call_tool("run_code", {"id": STEAM, "script": f"steam({n})"}) for n in (1, 2)]
        one, two = await asyncio.gather(*both)
        assert ("1700" in texts(one), "3400" in texts(two)) == (True, True)


def test_each_caller_has_so_many_runs_a_day_and_so_many_seconds(runs: CallersRuns) -> None:
    ada, grace = (Caller(name, frozenset(("read", "run"))) for name in ("ada", "grace"))
    for _ in range(2):
        assert runs.run(STEAM, "steam(1)", ada).output == "1700\n"
    with pytest.raises(InputError, match=r"2 scripts within a day.*try again tomorrow"):
        runs.run(STEAM, "steam(1)", ada)
    assert runs.run(STEAM, "steam(1)", grace).ok
    with pytest.raises(InputError, match="use at most 10"):
        runs.run(STEAM, "steam(1)", grace, 11)
    ended = runs.run(STEAM, "import time\nprint('begun')\ntime.sleep(60)", grace, 2)
    assert (ended.ended, ended.output, ended.ok) == ("timeout", "begun\n", False)


def test_a_caller_has_one_run_at_a_time_and_installations_are_not_waited_for(
    runs: CallersRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def installing(*_: object) -> Environment:
        begun.set()
        go_on.wait(60)
        return Environment(site=None, hash="")

    monkeypatch.setattr(runs._runs, "environment", installing)
    monkeypatch.setattr(callers_runs, "TURN_SECONDS", 0.01)
    monkeypatch.setattr(callers_runs, "INSTALLING_SECONDS", 30)
    first = threading.Thread(target=runs.run, args=(STEAM, "steam(1)", OPERATOR))
    first.start()
    assert begun.wait(60)
    with pytest.raises(InputError, match="another of your runs is in progress"):
        runs.run(STEAM, "steam(1)", OPERATOR)
    monkeypatch.setattr(callers_runs, "INSTALLING_SECONDS", 0.01)
    with pytest.raises(PackagesError, match="try again in a minute"):
        runs.run(STEAM, "steam(1)", Caller("ada", frozenset(("run",))))
    go_on.set()
    first.join()
    assert runs.run(STEAM, "steam(1)", Caller("ada", frozenset(("run",)))).ok


def test_a_server_without_a_sandbox_is_refused(graph_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_SANDBOX__RUNNER", "unsafe-subprocess")
    chosen = settings(graph_copy)
    with pytest.raises(ConfigError, match="must not be unsafe-subprocess"):
        CallersRuns(Service(chosen), chosen)
