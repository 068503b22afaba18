import io
import json
import os
import pty
import sys
from collections.abc import Callable

import pytest
from rich.console import Console

from xkg.build.stage_cache import Begun, Progress, StageReport
from xkg.cli.display import progress
from xkg.llm.client import Call

PARSED = StageReport(name="parse", seconds=0.25, reused=False, summary="7 sections")
KEPT = StageReport(name="extract", seconds=0.0, reused=True, summary="4 techniques")
DAMPING = Progress(stage="code", done=1, total=3, about="Exponential damping")


def call(*, dollars: float | None = 0.01, cached: bool = False) -> Call:
    return Call(
        paper="p",
        stage="ground",
        about="Damping",
        model="o4-mini",
        input_tokens=0 if cached else 1000,
        output_tokens=0 if cached else 500,
        dollars=0.0 if cached else dollars,
        seconds=1.0,
        cached=cached,
    )


@pytest.fixture
def plain(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Returns the lines that these events print to stderr if it is not a terminal."""

    def told(*events: object) -> list[str]:
        with progress.text_lines() as notify:
            for event in events:
                notify(event)
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "\x1b" not in captured.err
        return captured.err.splitlines()

    return told


def test_a_line_says_what_was_asked_so_far_and_what_it_took(plain: Callable[..., list[str]]) -> None:
    (line,) = plain(call(), call(), DAMPING)
    assert line.endswith("Exponential damping  2 calls, 3,000 tokens, $0.02")
    (line,) = plain(call(), call(cached=True), DAMPING)
    assert line.endswith("  1 call (1 more reused), 1,500 tokens, $0.01")
    (line,) = plain(call(cached=True), DAMPING)
    assert line.endswith("  0 calls (1 more reused), 0 tokens, $0.00")


def test_text_of_a_paper_does_not_command_the_terminal(plain: Callable[..., list[str]]) -> None:
    (line,) = plain(Progress(stage="code", done=1, total=1, about="A\x1b[2J\nB \ud800"))
    assert line.endswith("A?[2J B ?")
    (line,) = plain(PARSED.model_copy(update={"summary": "local:\x07\x1b]0;mine\x07"}))
    assert line.endswith("local:??]0;mine?")


def test_programs_are_told_in_json_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.json_lines() as notify:
        for event in (PARSED, call(), call(cached=True), DAMPING, "something else", call(dollars=None)):
            notify(event)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [json.loads(line) for line in captured.err.splitlines()]
    assert [line["event"] for line in lines] == ["stage", "calls", "progress", "calls"]
    assert (lines[0]["name"], lines[0]["seconds"], lines[0]["reused"]) == ("parse", 0.25, False)
    assert (lines[2]["stage"], lines[2]["done"], lines[2]["total"]) == ("code", 1, 3)
    assert [(line["calls"], line["tokens"], line["dollars"]) for line in lines] == [
        (0, 0, 0.0),
        (1, 1500, 0.01),
        (1, 1500, 0.01),
        (2, 3000, None),
    ]


def test_the_live_line_names_what_is_at_work_and_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    display = progress._Build(Console(file=io.StringIO()))
    for event in (PARSED, Begun(stage="ground")):
        display.live(event)
    now += 12
    assert display.line().plain == "  ground  0:12"
    display.live(PARSED.model_copy(update={"name": "ground"}))
    display.live(Begun(stage="code"))
    for name in ("Exponential damping", "Drift", "Kernel\n", "Step"):
        display.live(Begun(stage="code", about=name))
    now += 60
    assert display.line().plain == "  code: Exponential damping, Drift and 2 more  1:12"
    display.live(DAMPING)
    assert display.line().plain == "  code 1/3: Drift, Kernel and 1 more, about 2:00 left  1:12"


def test_a_real_terminal_shows_both(monkeypatch: pytest.MonkeyPatch) -> None:
    outer, inner = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    text = ""
    with open(inner, "w") as terminal, monkeypatch.context() as patch:  # noqa: PTH123
        patch.setattr(sys, "stderr", terminal)
        with progress.text_lines() as notify:
            notify(PARSED)
            notify(DAMPING)
            while "code 1/3" not in text:
                text += os.read(outer, 4096).decode()
    os.close(outer)
    assert "parse           0.2 s  7 sections" in text
