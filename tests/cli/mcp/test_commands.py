"""Tests `xkg mcp install`, which writes an entry for each client and keeps existing files."""

import json
import os
import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.test_main import Outcome
from tests.command import run
from xkg.cli.mcp import clients
from xkg.cli.mcp.clients import CLIENTS, Entry, Local, entry
from xkg.cli.mcp.config import put
from xkg.errors import InputError

URL = "https://kg.example.org/mcp"
FILES = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": "opencode.json",
    "zed": ".zed/settings.json",
}
OF_USERS = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cline": ".cline/data/settings/cline_mcp_settings.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
}


class Desk(NamedTuple):
    project: Path
    home: Path
    capsys: pytest.CaptureFixture[str]

    def install(self, client: str, *options: str) -> Outcome:
        code = run("--kg", self.project / "kg", "mcp", "install", client, *options)
        return Outcome(code, *self.capsys.readouterr())

    def file(self, client: str) -> Path:
        return self.project / FILES[client] if client in FILES else self.home / OF_USERS[client]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(home))
    for variable in ("CODEX_HOME", "CLINE_MCP_SETTINGS_PATH", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return Desk(project, home, capsys)


def read(path: Path) -> dict[str, Any]:
    text = path.read_text()
    return tomllib.loads(text) if path.suffix == ".toml" else dict(json.loads(text))


SERVERS = dict.fromkeys(CLIENTS, "mcpServers") | {
    "vscode": "servers",
    "codex": "mcp_servers",
    "opencode": "mcp",
    "zed": "context_servers",
}
TYPES = {"claude-code": "stdio", "cline": "stdio", "vscode": "stdio", "opencode": "local"}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_printed_is_what_is_written(desk: Desk, client: str) -> None:
    printed = desk.install(client)
    assert (printed.code, desk.file(client).exists()) == (0, False)
    assert "to check: " in printed.err
    written = desk.install(client, "--write")
    assert (written.code, "created" in written.out, str(desk.file(client)) in written.out) == (0, True, True)
    assert desk.file(client).read_text() == printed.out
    server = read(desk.file(client))[SERVERS[client]]["xkg"]
    assert server.get("type") == TYPES.get(client)
    command = server["command"] if client == "opencode" else [server["command"], *server["args"]]
    assert Path(command[0]).is_absolute()
    assert command[-3:] == ["--kg", str(desk.project / "kg"), "serve"]
    before = desk.file(client).stat()
    assert "nothing was changed" in desk.install(client, "--write").out
    assert desk.file(client).stat().st_ino == before.st_ino
    assert not list(desk.file(client).parent.glob("*.bak"))


def test_what_is_written_starts_this_installation(desk: Desk) -> None:
    server = json.loads(desk.install("cursor").out)["mcpServers"]["xkg"]
    command = [server["command"], *server["args"], "--help"]
    started = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert (started.returncode, "Serve the graph to agents" in started.stdout) == (0, True)


@pytest.mark.parametrize(
    ("client", "told"),
    [
        ("claude-code", {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${XKG_TOKEN}"}}),
        ("cursor", {"url": URL, "headers": {"Authorization": "Bearer ${env:XKG_TOKEN}"}}),
        ("vscode", {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${input:xkg-token}"}}),
        ("codex", {"url": URL, "bearer_token_env_var": "XKG_TOKEN"}),
        ("gemini", {"httpUrl": URL, "headers": {"Authorization": "Bearer ${XKG_TOKEN}"}}),
        ("opencode", {"type": "remote", "url": URL, "headers": {"Authorization": "Bearer {env:XKG_TOKEN}"}}),
        ("windsurf", {"serverUrl": URL, "headers": {"Authorization": "Bearer ${env:XKG_TOKEN}"}}),
    ],
)
def test_a_server_at_an_address_is_shown_a_token_that_is_written_nowhere(
    desk: Desk, client: str, told: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XKG_TOKEN", "xkg_secret")
    done = desk.install(client, "--write", "--url", URL)
    assert done.code == 0
    config = read(desk.file(client))
    assert config[SERVERS[client]] == {"xkg": told}
    assert [(each["id"], each["password"]) for each in config.get("inputs", [])] == (
        [("xkg-token", True)] if client == "vscode" else []
    )
    assert "xkg_secret" not in desk.file(client).read_text() + done.out + done.err
    assert "xkg token create" in done.err
    assert "nothing was changed" in desk.install(client, "--write", "--url", URL).out


@pytest.mark.parametrize("client", ["cline", "zed", "claude-desktop"])
def test_a_client_that_cannot_read_a_token_elsewhere_is_given_none(desk: Desk, client: str) -> None:
    refused = desk.install(client, "--write", "--url", URL)
    assert (refused.code, desk.file(client).exists()) == (1, False)
    assert re.search("plain text|Connectors", refused.err)


@pytest.mark.parametrize("client", OF_USERS)
def test_a_client_without_files_of_projects_says_so(desk: Desk, client: str) -> None:
    assert "use --scope user" in desk.install(client, "--write", "--scope", "project").err


@pytest.mark.parametrize("client", [client for client in CLIENTS if client not in ("claude-desktop", "cline", "zed")])
def test_a_server_of_this_machine_needs_no_token(desk: Desk, client: str) -> None:
    config = desk.install(client, "--url", "http://127.0.0.1:8321/mcp").out
    assert "XKG_TOKEN" not in config
    assert "Authorization" not in config
    named = desk.install(client, "--url", "http://127.0.0.1:8321/mcp", "--token-env", "MY_TOKEN").out
    assert "MY_TOKEN" in named


def test_user_scope_has_files_of_its_own(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert desk.install("cursor", "--scope", "user", "--write").code == 0
    assert "xkg" in read(desk.home / ".cursor" / "mcp.json")["mcpServers"]
    assert desk.install("codex", "--scope", "user", "--write").code == 0
    assert "xkg" in read(desk.home / ".codex" / "config.toml")["mcp_servers"]
    monkeypatch.setenv("CODEX_HOME", str(desk.home / "elsewhere"))
    assert desk.install("codex", "--scope", "user", "--write").code == 0
    assert "xkg" in read(desk.home / "elsewhere" / "config.toml")["mcp_servers"]
    assert str(Path("Code", "User", "mcp.json")) in desk.install("vscode", "--scope", "user", "--write").out
    assert list(desk.project.iterdir()) == []


def test_claude_code_adds_a_users_server_itself(desk: Desk) -> None:
    (command,) = desk.install("claude-code", "--scope", "user").out.splitlines()
    words = shlex.split(command)
    assert words[:6] == ["claude", "mcp", "add-json", "--scope", "user", "xkg"]
    assert json.loads(words[6])["args"][-1] == "serve"
    refused = desk.install("claude-code", "--scope", "user", "--write")
    assert (refused.code, "xkg mcp install claude-code --scope user" in refused.err) == (1, True)
    assert list(desk.home.iterdir()) == []


def test_what_somebody_added_to_the_entry_stays_and_what_was_is_kept(desk: Desk) -> None:
    path = desk.file("cursor")
    path.parent.mkdir()
    mine = {"command": "/old/xkg", "args": ["serve"], "env": {"XKG_LLM__MODEL": "none"}, "disabled": True}
    before = json.dumps({"mcpServers": {"xkg": mine}})
    path.write_text(before)
    path.chmod(0o600)
    replaced = desk.install("cursor", "--write", "--url", URL)
    server = read(path)["mcpServers"]["xkg"]
    assert (server["env"], server["disabled"], server["url"]) == (mine["env"], True, URL)
    assert "command" not in server
    assert path.with_name("mcp.json.bak").read_text() == before
    assert "mcp.json.bak" in replaced.out
    assert path.stat().st_mode & 0o777 == 0o600


def test_toml_keeps_its_comments_and_its_order(desk: Desk) -> None:
    path = desk.file("codex")
    path.parent.mkdir()
    before = (
        '# mine\nmodel = "o9"   # the best\n\n[mcp_servers.other] # theirs\ncommand = "x"\n'
        'env = { A = "1" }\n\n[profiles.slow]\nwhen = 2026-01-01\nratio = 1_000.50\n'
    )
    path.write_text(before)
    assert "was added" in desk.install("codex", "--write").out
    text = path.read_text()
    assert all(line in text.splitlines() for line in before.splitlines())
    after = tomllib.loads(text)
    assert after["mcp_servers"].pop("xkg")["args"][-1] == "serve"
    assert after == tomllib.loads(before)
    path.write_text(text.replace("[mcp_servers.xkg]\n", "[mcp_servers.xkg]\nstartup_timeout_sec = 9 # slow disk\n"))
    assert "nothing was changed" in desk.install("codex", "--write").out
    assert "was replaced" in desk.install("codex", "--write", "--allow-build").out
    assert "startup_timeout_sec = 9 # slow disk" in path.read_text()
    assert read(path)["mcp_servers"]["xkg"]["args"][-1] == "--allow-build"


HOSTILE = {
    "comments": '{\n  // mine\n  "servers": {}\n}',
    "trailing comma": '{"servers": {"a": {}},}',
    "half": '{"servers": {',
    "list": "[1]",
    "servers that are none": '{"mcpServers": [], "servers": []}',
    "null": '{"mcpServers": null, "servers": null}',
    "a key twice": '{"a": 1, "a": 2}',
    "a number that would change": '{"a": 1.00}',
    "a number beyond floats": '{"a": 1e999}',
    "not a number": '{"a": NaN}',
    "deep": "[" * 100_000,
    "words": "hello",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_json_that_would_lose_something_is_left_alone(desk: Desk, text: str) -> None:
    path = desk.file("vscode")
    path.parent.mkdir()
    path.write_text(text)
    refused = desk.install("vscode", "--write")
    assert (refused.code, refused.out) == (1, "")
    line = next(line for line in refused.err.splitlines() if line.startswith("xkg: "))
    assert "it was not changed" in line
    assert '"servers"' in line
    pasted = re.search(r'put ("xkg": \{.*\}) into', line)
    assert pasted is not None
    assert json.loads(f"{{{pasted[1]}}}")["xkg"]["command"]
    assert path.read_text() == text
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "text",
    [
        "a = ", "= 1", "a = 1\na = 2", 'mcp_servers = "x"', "mcp_servers = []", "[[mcp_servers]]\na = 1", "\x00",
        '[mcp_servers]\nxkg = "x"', '{"mcpServers": {}}',
    ],
)  # fmt: skip
def test_toml_that_cannot_be_added_to_is_left_alone(desk: Desk, text: str) -> None:
    path = desk.file("codex")
    path.parent.mkdir()
    path.write_text(text)
    refused = desk.install("codex", "--write")
    if text.endswith('xkg = "x"') and refused.code == 0:
        assert path.with_name("config.toml.bak").read_text() == text
        return
    assert (refused.code, refused.out, path.read_text()) == (1, "", text)
    line = next(line for line in refused.err.splitlines() if line.startswith("xkg: "))
    pasted = re.search(r"put (mcp_servers.*) before", line)
    assert pasted is not None
    assert tomllib.loads(pasted[1])["mcp_servers"]["xkg"]["command"]


def test_files_that_are_none_are_left_alone(desk: Desk, tmp_path: Path) -> None:
    path = desk.file("claude-code")
    path.mkdir()
    assert "is not a regular file" in desk.install("claude-code", "--write").err
    path.rmdir()
    os.mkfifo(path)
    assert "is not a regular file" in desk.install("claude-code", "--write").err
    path.unlink()
    path.write_bytes(b'{"a": "\xff"}')
    assert "not UTF-8" in desk.install("claude-code", "--write").err
    path.write_bytes(b" " * 5_000_000)
    assert "too large" in desk.install("claude-code", "--write").err
    path.unlink()
    path.symlink_to(tmp_path / "victim.json")
    assert "is a link to a file outside" in desk.install("claude-code", "--write").err
    assert not (tmp_path / "victim.json").exists()
    desk.file("cursor").parent.write_text("mine")
    assert desk.install("cursor", "--write").code == 1


def test_empty_files_marks_and_line_ends_are_met(desk: Desk) -> None:
    path = desk.file("claude-code")
    path.write_bytes(b"")
    assert desk.install("claude-code", "--write").code == 0
    path.write_bytes(b'\xef\xbb\xbf{\r\n    "a": "\\ud800"\r\n}\r\n')
    assert desk.install("claude-code", "--write").code == 0
    data = path.read_bytes()
    assert data.startswith(b'\xef\xbb\xbf{\r\n    "a"')
    assert b"\n" not in data.replace(b"\r\n", b"")
    assert json.loads(data.decode("utf-8-sig"))["a"] == "\ud800"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--url", "http://kg.example.org/mcp"], "unencrypted"),
        (["--url", "https://user:pass@kg.example.org/mcp"], "without user"),
        (["--url", "kg.example.org"], "not an address"),
        (["--url", "https://kg.example.org/${HOME}"], "written out|special meaning"),
        (["--url", URL, "--token-env", "xkg_" + "a" * 43], "not a token"),
        (["--url", URL, "--token-env", "a b"], "not a token"),
        (["--token-env", "A"], "--url"),
        (["--url", URL, "--allow-build"], "with --url, its operator decides"),
        (["--name", "a b"], "not a valid server name"),
        (["--name", "__proto__"], "not a valid server name"),
        (["--project", "nowhere"], "not a folder"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(desk: Desk, options: list[str], said: str) -> None:
    refused = desk.install("claude-code", "--write", *options)
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert re.search(said, refused.err)
    assert "a" * 43 not in refused.err
    assert list(desk.project.iterdir()) == []


def test_folders_that_clients_would_read_otherwise_are_refused() -> None:
    with pytest.raises(InputError, match="plainer name"):
        clients.local(Path("/srv/$HOME/kg"))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=30)
@given(
    config=st.dictionaries(st.text(), JSON_VALUES, max_size=4),
    others=st.dictionaries(st.text(), JSON_VALUES, max_size=3),
)
def test_whatever_a_file_holds_it_holds_after(
    tmp_path_factory: pytest.TempPathFactory, config: dict[str, Any], others: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("any") / "mcp.json"
    whole = {**config, "mcpServers": others}
    path.write_text(json.dumps(whole))
    wanted: Entry = entry("claude-code", Local(["/bin/xkg", "serve"]))
    put(path, wanted)
    after = json.loads(path.read_text())
    added = after["mcpServers"].pop("xkg")
    others.pop("xkg", None)
    assert after == {**whole, "mcpServers": others}
    assert added["command"] == "/bin/xkg"
    assert put(path, wanted) == ("unchanged", None)
