"""Tests the commands that the container runner sends to its engine, with a fake engine. The hostile tests in
`tests/sandbox` use the real engine if it is installed."""

import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from xkg.config import SandboxSettings
from xkg.errors import InputError, SandboxUnavailableError, UnsafeInputError
from xkg.sandbox.isolation.container import CONTAINERFILE, ContainerRunner
from xkg.sandbox.runner import Job, Limits
from xkg.sandbox.select import chosen_runner, runner_for

# Forwards the streams as an engine does, and answers instead of the guest.
_ENGINE = """#!{python}
import json, pathlib, sys
note = pathlib.Path({note!r})
with note.open("a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] != "run":
    sys.exit()
if {says!r}:
    sys.exit({says!r})
plan = json.loads(sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(8), "big")))
print(plan["token"], "started", file=sys.stderr, flush=True)
print(plan["command"][-1] if {echoes!r} else "contained", flush=True)
print("0" * 32, "0 0 0", file=sys.stderr)  # what a job without the token might say
{then}
print(plan["token"], *{ending!r}, file=sys.stderr)
"""

Engine = Callable[..., Path]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Puts a fake engine on the path. The fake engine prints a message, or ends a job with the given status, peak
    memory and number of OOM kills."""

    def make(
        says: str = "", ending: tuple[int, int, int] = (0, 3 << 20, 0), *, echoes: bool = True, then: str = ""
    ) -> Path:
        note = tmp_path / "asked"
        program = tmp_path / "bin" / "podman"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            _ENGINE.format(python=sys.executable, note=str(note), says=says, ending=ending, echoes=echoes, then=then)
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        return note

    return make


def _options(note: Path) -> list[str]:
    asked: list[str] = json.loads(note.read_text().splitlines()[0])
    return asked


def test_a_job_has_no_network_no_rights_and_no_folder_of_the_host(engine: Engine) -> None:
    note = engine()
    outcome = ContainerRunner().run(
        Job(arguments=("-c", "said"), limits=Limits(memory_mb=100, disk_mb=10, processes=7))
    )
    assert (outcome.ended, outcome.exit_code, outcome.output) == ("exited", 0, "said\n")
    assert (outcome.runner, outcome.command, outcome.peak_memory_mb) == ("container", "python -c said", 3.0)
    options = " ".join(_options(note))
    for option in (
        "--network none",
        "--cap-drop ALL",
        "--security-opt no-new-privileges",
        "--read-only",
        "--pull never",
        "--pids-limit 8",
        "--memory 238m --memory-swap 238m",
        "--tmpfs /tmp:rw,exec,nosuid,nodev,mode=1777,size=10m",
    ):
        assert option in options
    assert "--volume" not in options
    assert "--privileged" not in options


@pytest.mark.parametrize(
    ("ending", "ended", "code"),
    [((0, 0, 0), "exited", 0), ((3 << 8, 0, 0), "exited", 3), ((9, 0, 0), "killed", 137), ((9, 0, 1), "memory", None)],
)
def test_the_first_process_says_how_the_job_ended(
    engine: Engine, ending: tuple[int, int, int], ended: str, code: int | None
) -> None:
    engine(ending=ending)
    outcome = ContainerRunner().run(Job(arguments=("-c", "")))
    assert (outcome.ended, outcome.exit_code) == (ended, code)


def test_a_job_past_its_time_is_ended_by_the_engine(engine: Engine) -> None:
    note = engine(then="import time; time.sleep(60)")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xkg.sandbox.isolation.container._ENDING_SECONDS", 0.5)
        outcome = ContainerRunner().run(Job(arguments=("-c", ""), limits=Limits(seconds=0.2)))
    assert outcome.ended == "timeout"
    started, *ends = [json.loads(line) for line in note.read_text().splitlines()]
    name = started[started.index("--name") + 1]
    assert ends[0] == ["kill", name]


def test_a_missing_image_names_the_command_that_makes_it(engine: Engine) -> None:
    engine(says="Error: xkg-runner: image not known")
    with pytest.raises(SandboxUnavailableError, match="podman build -t xkg-runner") as caught:
        ContainerRunner().run(Job(arguments=("-c", "")))
    assert str(CONTAINERFILE) in str(caught.value)
    assert CONTAINERFILE.is_file()
    assert "\n" not in str(caught.value)


def test_what_cannot_be_started_is_refused_before_the_engine_is_asked(engine: Engine) -> None:
    note = engine()
    with pytest.raises(UnsafeInputError):
        ContainerRunner().run(Job(arguments=("-c", ""), files={"../out": ""}))
    with pytest.raises(InputError, match="arguments are too long"):
        ContainerRunner().run(Job(arguments=("-c", "x" * (1 << 20))))
    assert not note.exists()


@pytest.mark.usefixtures("untried_sandbox")
def test_other_systems_run_code_in_containers_alone(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    engine(echoes=False)
    runner, why = chosen_runner(SandboxSettings())
    assert (runner.name, why) == ("container", "the first runner that works on this machine")
    assert runner.weaker
    with pytest.raises(SandboxUnavailableError, match="landlock needs Linux"):
        runner_for(SandboxSettings(runner="landlock"))


@pytest.mark.usefixtures("untried_sandbox")
def test_without_an_engine_nothing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailableError, match="install podman or docker"):
        runner_for(SandboxSettings())
