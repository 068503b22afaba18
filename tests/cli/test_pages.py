import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.command import run


def test_explore_says_where_the_pages_are_and_ends_when_told(published: Path) -> None:
    command = [Path(sys.executable).with_name("xkg"), "--kg", published, "explore", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:[0-9]+/", process.stdout.readline())
        assert found is not None
        assert "<h1>Map</h1>" in httpx2.get(found[0], timeout=60).text
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.mark.parametrize(
    "command", [["explore", "--no-browser"], ["explore", "--save", "report.html"], ["export", "--format", "html"]]
)
def test_without_the_extra_it_is_named(
    command: list[str],
    published: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("xkg.web.require_web.has_extra", lambda *_: False)
    assert run("--kg", published, *command) == 2
    assert "pip install '.[web]'` in a clone of xkg" in capsys.readouterr().err


def test_an_export_without_a_folder_says_what_is_missing(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("--kg", published, "export")
    assert "--to FOLDER" in capsys.readouterr().err
