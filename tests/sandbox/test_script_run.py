"""Tests callers' scripts in the sandbox: their input, their results, and that they leave nothing behind."""

import json
import sysconfig
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sandbox.conftest import SMALL
from tests.sandbox.test_hostile_limits import processes_with
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.runner import Environment, Runner
from xkg.sandbox.script_run import ALL_BYTES, MOST_FILES, OUTPUT_CHARACTERS, ScriptRun, run_script

CODE = """import math


def inverse(x):
    return 1 / x


def _hidden():
    return math.pi
"""
Run = Callable[..., ScriptRun]


@pytest.fixture
def run() -> Run:
    def run(script: str, site: Path | None = None, **limits: float) -> ScriptRun:
        environment = Environment(site=site, hash="")
        return run_script(CODE, script, BubblewrapRunner(), environment, SMALL.model_copy(update=limits))

    return run


def test_a_script_begins_with_the_names_of_the_code_and_its_last_value_is_printed(run: Run) -> None:
    script = """
import sys, os
print(inverse(4), math.e > _hidden(), implementation.inverse is inverse, __name__, sys.argv, os.listdir())
open("kept.txt", "w").write("kept")
inverse(2)
"""
    ran = run(script)
    assert ran.outcome.ok
    assert ran.outcome.output == "0.25 False True __main__ ['script.py'] []\n0.5\n"
    assert [(file.name, file.content) for file in ran.files] == [("kept.txt", b"kept")]


def test_figures_that_are_open_at_the_end_are_files(run: Run) -> None:
    script = """
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.figure(); plt.plot([2, 1]); plt.show()
raise SystemExit(3)
"""
    ran = run(script, Path(sysconfig.get_path("purelib")), memory_mb=1000, seconds=60)
    assert (ran.outcome.exit_code, ran.outcome.output) == (3, "")
    assert [file.name for file in ran.files] == ["figure-1.png", "figure-2.png"]
    assert all(file.content.startswith(b"\x89PNG") for file in ran.files)


def test_the_time_of_a_script_ends_it_and_what_it_printed_and_wrote_remains(run: Run) -> None:
    ran = run("print('begun')\nopen('half', 'w').write('half')\nimport time\ntime.sleep(60)", seconds=2)
    assert (ran.outcome.ended, ran.outcome.exit_code, ran.outcome.output) == ("timeout", None, "begun\n")
    assert [file.name for file in ran.files] == ["half"]


def test_endless_output_ends_it_and_its_end_remains(run: Run) -> None:
    ran = run("while True:\n    print('x' * 65536)", seconds=30)
    assert ran.outcome.ended == "output"
    assert len(ran.outcome.output) == OUTPUT_CHARACTERS


def test_files_come_back_within_bounds_and_the_others_are_named(run: Run, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a host's file")
    script = f"""
import os
os.symlink({str(secret)!r}, "link"); os.symlink("/usr", "folder"); os.mkfifo("pipe")
os.mkdir("in"); os.symlink("..", "in/up")
open("big", "wb").write(b"x" * (1 << 21))
for number in range({MOST_FILES + 5}):
    open(f"in/{{number:03}}", "w").write("in")
open("a\\n\\x1b[31mname", "w").write("named")
"""
    ran = run(script)
    assert ran.outcome.ok
    assert len(ran.files) == MOST_FILES
    assert sum(len(file.content) for file in ran.files) < ALL_BYTES
    why = {other.name: other.why for other in ran.left_out}
    assert {"link", "folder", "pipe", "big", "in/up"} <= why.keys() | {file.name for file in ran.files}
    assert "a host's file" not in ran.model_dump_json()
    assert (why["pipe"], why["link"]) == ("it is not a regular file", "it is a link, or cannot be read")


# A script that a client runs must not reach anything listed here. The tests in test_hostile_reach check the isolation
# of every runner.
REACH = """
import json, os, socket, pathlib
done = {"variables": sorted(os.environ), "opened": []}
for place in (SECRET, "/root/.netrc", "/etc/shadow", "/proc/1/environ", f"/proc/{os.getppid()}/environ"):
    try:
        if b"KEY" in pathlib.Path(place).read_bytes(): done["opened"].append(place)
    except OSError: pass
for place in ("/site/planted.py", "/site/own/__init__.py", "/python/planted", "/planted", "/usr/bin/planted"):
    try:
        with open(place, "a"): done["opened"].append(place)
    except OSError: pass
try:
    os.link("/site/own/__init__.py", "own"); done["opened"].append("link")
except OSError: pass
try:
    socket.create_connection(("127.0.0.1", PORT), 2); done["opened"].append("socket")
except OSError: pass
print(json.dumps(done))
"""


def test_a_script_finds_no_key_no_file_no_network_and_cannot_write_its_packages(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    monkeypatch.setenv("XKG_LLM_KEY", "KEY")
    secret, site = tmp_path / "secret", tmp_path / "site"
    secret.write_text("KEY")
    (site / "own").mkdir(parents=True)
    (site / "own" / "__init__.py").write_text("VALUE = 1\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        ran = run(f"SECRET, PORT = {str(secret)!r}, {listener.getsockname()[1]}\n{REACH}", site)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert ran.outcome.ok, ran.outcome.output
    done = json.loads(ran.outcome.output)
    assert done["opened"] == []
    assert not [name for name in done["variables"] if "KEY" in name or name.startswith("XKG")]
    assert (site / "own" / "__init__.py").read_text() == "VALUE = 1\n"
    assert [path.name for path in site.rglob("*")] == ["own", "__init__.py"]


def test_nothing_of_a_run_outlives_it_and_the_next_finds_nothing(run: Run) -> None:
    mark = uuid.uuid4().hex
    stays = f"""
import os, sys, time
open("/tmp/job/planted", "w").write("planted")
for place in ("/tmp/planted", "/dev/shm/planted", "../code/implementation.py", "kept"):
    open(place, "w").write("planted")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", {mark!r}])
    os._exit(0)
time.sleep(0.3)
"""
    assert run(stays).outcome.ok
    assert processes_with(mark) == []
    looks = "import os; print(inverse(2), [os.listdir(p) for p in ('.', '/dev/shm')], sorted(os.listdir('/tmp/job')))"
    ran = run(f"{looks}; print(os.listdir('/tmp'))")
    assert ran.outcome.output == "0.5 [[], []] ['code', 'fonts.conf', 'run_script.py', 'work']\n['job']\n"


def test_forks_memory_and_disk_are_bounded(run: Run) -> None:
    fills = """
import os
def tried(act):
    try:
        act(); print("done")
    except OSError as error:
        print(type(error).__name__)
def fill():
    with open("full", "wb") as file:
        for _ in range(64): file.write(bytes(1 << 20))
def fork():
    for _ in range(500):
        if os.fork() == 0:
            import time; time.sleep(60)
tried(fill); tried(fork)
"""
    ran = run(fills, memory_mb=2000)
    assert (ran.outcome.ended, ran.outcome.output) == ("exited", "OSError\nBlockingIOError\n")
    assert [other.name for other in ran.left_out] == ["full"]
    grown = run("import os\nheld = []\nwhile True: held.append(os.urandom(1 << 20))")
    assert grown.outcome.ended == "memory" or "MemoryError" in grown.outcome.output


def test_a_script_that_ends_the_program_around_it_gets_an_answer_too(run: Run) -> None:
    ran = run("import os, signal\nprint('last words', flush=True)\nos.kill(os.getppid(), signal.SIGKILL)")
    assert (ran.outcome.ended, ran.files) == ("killed", ())
    forged = 'import os, json\nprint(\'{"ended": "exited", "exit_code": 0}\')\nos.kill(os.getpid(), 9)'
    ran = run(forged)
    assert (ran.outcome.ended, ran.outcome.exit_code) == ("killed", 137)


@pytest.mark.product("each runner", "runner")
def test_each_runner_gives_the_same(runner: Runner) -> None:
    script = "print(inverse(2))\nopen('a', 'w').write('x')\ninverse(0)"
    ran = run_script(CODE, script, runner, Environment(site=None, hash=""), SMALL)
    assert (ran.outcome.ended, ran.outcome.exit_code) == ("exited", 1)
    assert ran.outcome.output.startswith("0.5\nTraceback")
    assert '  File "script.py", line 3, in <module>' in ran.outcome.output
    assert '  File "implementation.py", line 5, in inverse' in ran.outcome.output
    assert "run_script" not in ran.outcome.output
    assert [(file.name, file.content) for file in ran.files] == [("a", b"x")]
