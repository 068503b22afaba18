import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import command
from xkg.commands.run import store
from xkg.serve.running.answer import RunFile

FORCE = "repulsive force"
Xkg = Callable[..., tuple[int, str, str]]


@pytest.fixture
def xkg(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Xkg:
    """Runs a command. Returns its exit status and its output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XKG_ENVIRONMENT__MAX_MB", "0")

    def run(*arguments: str) -> tuple[int, str, str]:
        return command.run("--kg", published, "run", *arguments), *capsys.readouterr()

    return run


def test_lines_a_file_and_stdin_are_run(xkg: Xkg, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert xkg(FORCE, "-c", "repulsive_force(6, 3)") == (0, "2.0\n", "")
    (tmp_path / "try.py").write_text("x = repulsive_force(6, 3)\n\nraise ValueError(x)\n")
    status, out, err = xkg(FORCE, "try.py")
    assert status == 1
    assert 'File "try.py", line 3' in out
    assert err == "xkg: the script failed: status 1: ValueError: 2.0\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"import sys; sys.exit(repulsive_force(6, 2) != 3)")))
    assert xkg(FORCE, "-") == (0, "", "")


def test_without_a_script_it_prints_one_that_runs_when_values_are_put_in(xkg: Xkg, tmp_path: Path) -> None:
    status, script, err = xkg(FORCE)
    assert status == 0
    assert script.splitlines()[-1] == "repulsive_force(kernel_gradient=..., n=...)"
    assert "xkg run 'repulsive force' FILE" in err
    (tmp_path / "try.py").write_text(script.replace("kernel_gradient=...", "6").replace("n=...", "3"))
    assert xkg(FORCE, "try.py")[:2] == (0, "2.0\n")


def test_what_it_leaves_is_named_and_stored_on_request(xkg: Xkg, tmp_path: Path) -> None:
    lines = "import os; os.mkdir('in'); open('in/a.txt', 'w').write('a\\x1b[31m'); open('.bashrc', 'w').write('x')"
    status, out, err = xkg(FORCE, "-c", lines)
    assert (status, "the script wrote in/a.txt (6 bytes)" in err, ".bashrc: its name is hidden" in err) == (
        0,
        True,
        True,
    )
    assert not list(tmp_path.iterdir())
    status, out, err = xkg(FORCE, "-c", lines, "--out", "out")
    assert (status, "wrote out/in/a.txt" in err) == (0, True)
    assert [path.name for path in (tmp_path / "out").rglob("*")] == ["in", "a.txt"]
    status, _, err = xkg(FORCE, "-c", lines, "--out", "out")
    assert status == 1
    assert "not written: in/a.txt: already exists; choose another --out, or remove it" in err
    status, out, _ = xkg(FORCE, "-c", lines, "--json")
    (file,) = json.loads(out)["files"]
    assert (file["name"], file["media_type"], file["content"]) == ("in/a.txt", "text/plain", "YRtbMzFt")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("median heuristic", "-c", "1"), "missing package numpy: environments are disabled"),
        ((FORCE, "nowhere.py"), "nowhere.py cannot be read (No such file or directory)"),
        ((FORCE, "nowhere.py", "-c", "1"), "put a name with several words in quotes"),
        ((FORCE, "-c", ""), "the script is empty"),
        (("no such technique at all", "-c", "1"), "no such technique at all"),
    ],
)
def test_what_cannot_be_run_is_one_line(xkg: Xkg, arguments: tuple[str, ...], message: str) -> None:
    status, out, err = xkg(*arguments)
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert message in err


def test_without_a_sandbox_nothing_is_run(xkg: Xkg, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_SANDBOX__RUNNER", "unsafe-subprocess")
    status, _, err = xkg(FORCE, "-c", "1")
    assert (status, "scripts run only in a sandbox" in err) == (1, True)


def test_files_are_written_below_their_folder_alone(tmp_path: Path) -> None:
    outside, out = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    out.mkdir()
    (out / "in").symlink_to(outside)
    (out / "a.txt").symlink_to(outside / "a.txt")
    (out / "pipe").write_text("pipe")
    files = [
        RunFile(name=name, media_type="text/plain", size=1, content=b"x") for name in ("in/a", "a.txt", "pipe", "b")
    ]
    written, refused = store(tuple(files), out)
    assert written == ["b"]
    assert [line.partition(":")[0] for line in refused] == ["in/a", "a.txt", "pipe"]
    assert list(outside.iterdir()) == []
    assert (out / "b").stat().st_mode & 0o777 == 0o644
