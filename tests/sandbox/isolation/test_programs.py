"""Tests programs that read untrusted files, inside each available sandbox."""

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox.index import Index, serving
from xkg.sandbox.isolation.bubblewrap_mounts import outside_uid
from xkg.sandbox.isolation.programs import Program, ProgramResult, Wall, lend, run, wall
from xkg.sandbox.runner import Limits

SHELL = "/bin/sh"


@pytest.fixture(params=["bubblewrap", "landlock", None])
def behind(request: pytest.FixtureRequest) -> Wall | None:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Creates a folder that every user can enter, because only bubblewrap mounts folders elsewhere."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        place.chmod(0o755)
        (place / "a.txt").write_text("here\n")
        yield place


def shell(script: str, folder: Path, behind: Wall | None, given: bytes = b"", **more: object) -> ProgramResult:
    limits = Limits(seconds=60, memory_mb=300, disk_mb=4)
    return run(Program((SHELL, "-c", script), folder, limits, **more), given, behind=behind)  # type: ignore[arg-type]


def test_bytes_go_in_and_come_out(folder: Path, behind: Wall | None) -> None:
    given = bytes(range(256)) * 1000
    ran = shell("cat; cat a.txt; echo said >&2; exit 3", folder, behind, given)
    assert (ran.output, ran.ended, ran.exit_code, ran.stderr) == (given + b"here\n", "exited", 3, "said\n")
    assert not ran.ok


def test_it_sees_no_variable_of_ours(folder: Path, behind: Wall | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    ran = shell("env; cat /proc/self/environ", folder, behind, variables={"GIVEN": "1"})
    assert b"GIVEN=1" in ran.output
    assert b"sk-secret" not in ran.output
    assert os.environ["HOME"].encode() not in [line.partition(b"=")[2] for line in ran.output.splitlines()]


def test_output_and_time_have_an_end(folder: Path, behind: Wall | None) -> None:
    ran = shell("exec yes", folder, behind)
    assert not ran.ok
    assert len(ran.output) <= 4 << 20
    slow = Program((SHELL, "-c", "sleep 60"), folder, Limits(seconds=0.5))
    assert run(slow, behind=behind).ended == "timeout"


@pytest.mark.parametrize("behind", ["bubblewrap", "landlock"])
def test_files_are_what_it_was_given(folder: Path, behind: Wall) -> None:
    (folder / "given").mkdir()
    (folder / "lent").mkdir()
    (folder / "other").mkdir()
    for name in ("given", "other"):
        (folder / name / "x").write_text(f"{name}\n")
        (folder / name).chmod(0o777)
        (folder / name / "x").chmod(0o666)
    lend(folder / "lent")
    given, lent, other = (folder / name for name in ("given", "lent", "other"))
    script = f"cat {given}/x; cat {other}/x; echo no >{given}/x; echo no >{given}/y; echo yes >{lent}/y; id -u"
    ran = shell(script, given, behind, reads=(given,), writes=(lent,))
    uid = int(ran.output.split()[-1])
    assert ran.output.split()[:-1] == [b"given"]
    assert uid != 0 or os.geteuid() != 0
    assert (lent / "y").read_text() == "yes\n"
    assert {p.name for p in given.iterdir()} == {"x"}
    assert (given / "x").read_text() == "given\n"


def test_an_installation_does_not_use_up_the_processes_of_git(folder: Path) -> None:
    lend(folder)
    assert folder.stat().st_uid != outside_uid(keeper="packages")


@pytest.mark.parametrize("behind", ["bubblewrap", "landlock"])
def test_what_root_asks_for_is_read_by_nobody(folder: Path, behind: Wall) -> None:
    (folder / "a.txt").chmod(0o600)
    ran = shell("cat a.txt; id -u; cat /etc/shadow", folder, behind)
    assert ran.output.split()[0] == b"here"
    assert ran.output.split()[1] != b"0"
    assert len(ran.output.split()) == 2


@pytest.mark.parametrize("behind", ["bubblewrap", "landlock"])
def test_without_a_host_there_is_no_network(folder: Path, behind: Wall) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        script = f"exec 3<>/dev/tcp/127.0.0.1/{listener.getsockname()[1]} && echo connected"
        ran = run(Program(("/bin/bash", "-c", script), folder, Limits(seconds=60)), behind=behind)
        assert ran.output == b""
        with pytest.raises(BlockingIOError):
            listener.accept()


_ASK = """
import os, urllib.request
for url in os.environ["URLS"].split():
    try:
        print(urllib.request.urlopen(url, timeout=10).status)
    except Exception as error:
        print(getattr(error, "code", type(error).__name__))
"""


def test_one_host_is_reached_and_others_are_told(folder: Path, behind: Wall | None) -> None:
    (folder / "ask.py").write_text(_ASK)
    with serving(Index()) as index, serving(Index()) as other:
        index.add("alpha", "1.0", {"alpha.py": ""})
        other.add("alpha", "1.0", {"alpha.py": ""})
        port = int(index.url.split(":")[2].split("/")[0])
        asked = Program(
            ("/usr/bin/python3", "ask.py"),
            folder,
            Limits(seconds=30),
            {"URLS": f"{index.url}/alpha/ {other.url}/alpha/ http://elsewhere.example/"},
            hosts=frozenset({("127.0.0.1", port)}),
            max_bytes=1 << 20,
        )
        ran = run(asked, behind=behind)
        assert ran.output.split() == [b"200", b"403", b"403"], ran.stderr
        assert ran.refused == {other.url.split("/")[2], "elsewhere.example"}
        assert other.asked == []


def test_there_is_a_wall_here() -> None:
    assert wall() == "bubblewrap"
