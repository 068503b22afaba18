"""Tests jobs that are forked from a process with imported modules. Each job must be unaffected by earlier ones."""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import numpy
import pytest

from tests.sandbox.conftest import SMALL, require_landlock
from xkg.sandbox.guest import landlock
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.fork_server import Openable, WarmRunner
from xkg.sandbox.isolation.landlock import LandlockRunner
from xkg.sandbox.isolation.watchdog import descendants
from xkg.sandbox.runner import Job, Outcome

pytestmark = pytest.mark.product("each runner × each job of a warm process", "cold")


@pytest.fixture(scope="module", params=[BubblewrapRunner, LandlockRunner])
def cold(request: pytest.FixtureRequest) -> Openable:
    require_landlock(landlock.SCOPES_FROM)
    runner: Openable = request.param()
    return runner


@pytest.fixture
def warm(cold: Openable) -> Iterator[WarmRunner]:
    with WarmRunner(cold, lambda _: ("csv", "xkg_no_such_module")) as runner:
        yield runner


@pytest.fixture(scope="module")
def kept(cold: Openable) -> Iterator[WarmRunner]:
    """Provides one server for many tests, which must leave it unchanged."""
    with WarmRunner(cold, lambda _: ("csv",)) as runner:
        yield runner


def script(source: str, *arguments: str, site: Path | None = None, **limits: float) -> Job:
    return Job(
        arguments=("run.py", *arguments),
        files={"run.py": dedent(source)},
        site=site,
        limits=SMALL.model_copy(update=limits),
    )


def warm_processes() -> list[int]:
    found = []
    for process in descendants(os.getpid()):
        try:
            command = Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            continue
        if b"xkg.sandbox.guest.fork_server" in command and b"bwrap" not in command.split(b"\0")[0]:
            found.append(process)
    return found


@pytest.fixture
def others() -> set[int]:
    """Returns the processes of warm runners that other tests keep."""
    return set(warm_processes())


STATE = """
import os, random, resource, signal, sys, threading, tempfile
names = [os.getcwd(), tempfile.gettempdir()] + ["/dev/shm"] * os.access("/dev/shm", os.W_OK)
places = [sorted(f"{f}/{n}" for f, d, ns in os.walk(p) for n in ns + d) for p in names]
print(places, dict(os.environ), sorted(sys.modules), sys.argv, sys.path, __name__, __file__)
print([(n, signal.getsignal(n)) for n in (2, 15, 17)], resource.getrlimit(resource.RLIMIT_NOFILE), os.nice(0))
print(threading.active_count(), os.umask(0o22), len("abc"), sys.getrecursionlimit(), os.dup(0))
"""

LEAVE = """
import builtins, ctypes, os, random, resource, signal, stat, sys, tempfile, threading, time
os.chmod(".", 0o777)
for place in (os.getcwd(), tempfile.gettempdir(), "/dev/shm"):
    try:
        os.makedirs(place + "/a/b"); open(place + "/a/b/c", "w").write("x"); os.symlink("/", place + "/root")
        os.mkfifo(place + "/pipe")
        if sys.argv[1] == "bubblewrap":  # else what cannot be measured counts as too much
            os.mkdir(place + "/closed", 0); os.chmod(place + "/a", 0)
        os.setxattr(place, "user.left", b"x")
    except OSError:
        pass
for i in range(1500 if sys.argv[1] == "bubblewrap" else 30):
    os.mkdir("x" * 100); os.chdir("x" * 100)
sys.modules["csv"] = None; sys.modules["left"] = sys; os.environ["LEFT"] = "x"
sys.path.append("/left"); sys.setrecursionlimit(500); signal.signal(15, signal.SIG_IGN); os.umask(0)
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20)); os.nice(5)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        time.sleep(60)
    os._exit(0)
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
parent, libc = os.getppid(), ctypes.CDLL(None, use_errno=True)
def reached(what, change):
    try:
        if change() != -1:
            print("reached", what, flush=True)
    except OSError:
        pass
for number in (9, 15, 17, 19):
    reached(number, lambda: os.kill(parent, number))
reached("handle", lambda: signal.pidfd_send_signal(os.pidfd_open(parent), 9))
reached("memory", lambda: open(f"/proc/{parent}/mem", "r+b"))
for descriptor in range(8):
    reached("its files", lambda: open(f"/proc/{parent}/fd/{descriptor}", "wb"))
reached("environment", lambda: open(f"/proc/{parent}/environ").read())
reached("limits", lambda: resource.prlimit(parent, resource.RLIMIT_NPROC, (1, 1)))
reached("priority", lambda: os.setpriority(os.PRIO_PROCESS, parent, 19))
reached("cores", lambda: os.sched_setaffinity(parent, {0}))
reached("trace", lambda: libc.ptrace(16, parent, 0, 0))
for descriptor in range(3, 64):
    reached(f"descriptor {descriptor}", lambda: os.write(descriptor, b"0 1"))
os.kill(-1, 15)
builtins.len = lambda _: 7
os.write(1, b"left")
"""


@pytest.mark.product("each end", "how")
@pytest.mark.parametrize("how", ["exit", "timeout", "abort", "memory", "output"])
def test_one_run_does_not_change_the_next(warm: WarmRunner, how: str) -> None:
    end = {
        "exit": "",
        "timeout": "time.sleep(60)",
        "abort": "os.abort()",
        "memory": "held = [bytearray(1 << 20) for _ in range(100_000)]",
        "output": "while True: print('x' * 10_000)",
    }[how]
    first = warm.run(script(STATE))
    assert first.ok, first
    there = set(descendants(os.getpid()))
    left = warm.run(script(LEAVE + end, warm.name, seconds=4 if how == "timeout" else 40))
    assert "reached" not in left.output
    assert how == "output" or left.output.startswith("left"), left
    assert set(descendants(os.getpid())) <= there
    again = warm.run(script(STATE))
    assert again.output == first.output
    assert again.runner.endswith(", warm")
    assert set(descendants(os.getpid())) <= there


def test_one_run_does_not_change_the_next_in_a_user_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a user namespace, the job owns its folders."""
    require_landlock(landlock.SCOPES_FROM)
    monkeypatch.setattr("xkg.sandbox.isolation.bubblewrap.outside_uid", lambda **_: None)
    with WarmRunner(BubblewrapRunner(), lambda _: ()) as warm:
        first = warm.run(script(STATE))
        left = warm.run(script(LEAVE, warm.name))
        again = warm.run(script(STATE))
    assert first.ok
    assert left.output == "left"
    assert (again.output, again.runner) == (first.output, "bubblewrap, warm")


@pytest.mark.parametrize(
    "source",
    [
        "import sys, os; print(sys.argv, __name__, __file__ == os.path.abspath('run.py'), sys.path[0] == os.getcwd())",
        "def broken():\n    1 / 0\nbroken()",
        "def f(:",
        "raise SystemExit('said')",
        "import atexit, sys; atexit.register(print, 'bye'); print('hi', end=''); sys.stderr.write('!')",
        "import threading, time; threading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()",
        "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f))",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.fail('no')\nunittest.main(verbosity=0)",
        "import os\nif os.fork() == 0: print('child'); 1 / 0\nprint(os.wait()[1])",
        "import xkg",
    ],
)
def test_a_run_is_as_it_would_be_anew(kept: WarmRunner, cold: Openable, source: str) -> None:
    job = script(source, "argument")

    def said(outcome: Outcome) -> tuple[object, ...]:
        lines = [line for line in outcome.output.splitlines() if "xkg-job" not in line and "Ran 1 test" not in line]
        return lines, outcome.ended, outcome.exit_code, outcome.command

    forked = kept.run(job)
    assert forked.runner.endswith(", warm")
    assert said(forked) == said(cold.run(job))


def test_modules_are_there_and_random_numbers_are_not_the_same(kept: WarmRunner) -> None:
    source = "import sys, random; print('csv' in sys.modules, random.random())"
    outcomes = [kept.run(Job(arguments=("-c", source))) for _ in range(2)]
    assert all(outcome.output.startswith("True ") for outcome in outcomes)
    assert outcomes[0].output != outcomes[1].output


def test_a_run_that_loses_its_process_is_run_again(others: set[int], warm: WarmRunner) -> None:
    assert warm.run(script("print(1)")).ok
    (process,) = set(warm_processes()) - others
    below = len(descendants(process))

    def kill_during_the_run() -> None:
        while len(descendants(process)) == below:
            time.sleep(0.01)
        os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=kill_during_the_run)
    killer.start()
    # The lost process has preloaded `csv`, but the sandbox that repeats the run has not.
    outcome = warm.run(script("import sys, time; 'csv' in sys.modules and time.sleep(60); print('done')"))
    killer.join()
    assert (outcome.output, outcome.exit_code) == ("done\n", 0)
    after = warm.run(script("print(2)"))
    assert (after.output, after.runner) == ("2\n", f"{warm.name}, warm")
    assert process not in warm_processes()


@pytest.mark.product("each module", "module")
@pytest.mark.parametrize(
    "module",
    [
        "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        "import os\nif os.fork() == 0: os._exit(0)",
        "import mmap; held = mmap.mmap(-1, 4096)",
        "import time\nif __import__('sys').argv[0] == '-c': time.sleep(60)",
        "import sys\nif sys.argv[0] == '-c': sys.exit(3)",
    ],
)
def test_modules_that_cannot_be_forked_are_imported_by_each_run(cold: Openable, tmp_path: Path, module: str) -> None:
    (tmp_path / "odd.py").write_text(module)
    tmp_path.chmod(0o755)
    with WarmRunner(cold, lambda _: ("odd",)) as warm:
        for _ in range(2):
            outcome = warm.run(
                script(
                    "import odd; print('ran')", site=tmp_path, seconds=2 if module.endswith("time.sleep(60)") else 40
                )
            )
            assert (outcome.output, outcome.runner) == ("ran\n", cold.name)


def test_a_module_that_fails_does_not_keep_others_away(cold: Openable, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise ValueError")
    (tmp_path / "fine.py").write_text("")
    tmp_path.chmod(0o755)
    with WarmRunner(cold, lambda _: ("broken", "fine", "absent", "fine.absent")) as warm:
        outcome = warm.run(script("import sys; print('fine' in sys.modules, 'broken' in sys.modules)", site=tmp_path))
    assert outcome.output == "True False\n"


def test_environments_are_kept_apart(warm: WarmRunner, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "package.py").write_text(f"name = {name!r}")
    tmp_path.chmod(0o755)
    for name in ("a", "b", "a"):
        assert warm.run(script("import package; print(package.name)", site=tmp_path / name)).output == f"{name}\n"


def test_what_cannot_fork_runs_as_before(warm: WarmRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = warm.run(Job(arguments=("-m", "this")))
    assert outcome.ok
    assert outcome.runner == warm.name
    monkeypatch.setattr(landlock, "version", lambda: 5)
    assert warm.run(script("print(1)")).runner == warm.name


def test_nothing_is_left_when_it_is_closed(cold: Openable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    processes, descriptors = set(descendants(os.getpid())), len(list(Path("/proc/self/fd").iterdir()))
    with WarmRunner(cold, lambda _: ()) as warm:
        for _ in range(3):
            warm.run(script("open('x', 'w')"))
    assert list(tmp_path.iterdir()) == []
    assert set(descendants(os.getpid())) <= processes  # processes of other tests may have ended
    assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors


SOUND = """
import builtins, gc, json, numpy, sys
sums = [numpy.allclose([1.0], [2.0]), float(numpy.exp(0.0)), numpy.array([1, 2]).sum(), len("abc"), 256 - 1, hash("a")]
print(sums, numpy.pi, numpy.float64(1.5) + 1, repr(numpy.zeros(2)), json.dumps([1]), numpy.geterr(), gc.isenabled())
print(sorted(vars(numpy)) == sorted(set(vars(numpy))), len(vars(numpy)), len(sys.modules), hasattr(builtins, "left"))
print(numpy.get_printoptions()["precision"], numpy.dtype("float64").itemsize, [m for m in sys.modules if "left" in m])
print(open(numpy.__file__).read().count("left"), sys.meta_path, sys.path_hooks, sys.gettrace())
"""
POISON = """
import builtins, ctypes, gc, importlib, json, numpy, os, sys, types
numpy.allclose = numpy.exp = lambda *_, **__: True
numpy.pi, numpy.left = 3, 1
numpy.seterr(all="ignore"); numpy.set_printoptions(precision=1); numpy.random.seed(1); gc.disable()
sys.modules["left"] = types.ModuleType("left"); json.dumps = lambda *_: "poisoned"
builtins.left = builtins.len = lambda _: 7
class Finder:
    def find_spec(self, name, *_):
        print("poisoned", name)
sys.meta_path.insert(0, Finder()); sys.path_hooks.clear(); sys.path_importer_cache.clear()
ctypes.memset(id(255) + 24, 1, 1)  # the number itself, in this process
ctypes.pythonapi.Py_IncRef(ctypes.py_object(numpy))
for folder in {os.path.dirname(numpy.__file__), os.path.dirname(json.__file__), *sys.path}:
    for name in ("__init__.py", "left.py", "sitecustomize.py", "left.pth", "__pycache__/left.pyc"):
        try:
            with open(os.path.join(folder, name), "a") as file:
                file.write("left = 1")
        except OSError:
            pass
os.environ["PYTHONPATH"] = os.environ["PYTHONSTARTUP"] = os.getcwd()
importlib.invalidate_caches()
os.write(1, b"poisoned")
os._exit(0)
"""


def test_a_run_that_poisons_a_library_poisons_itself_alone(cold: Openable) -> None:
    site = Path(numpy.__file__).parents[1]
    with WarmRunner(cold, lambda _: ("numpy",)) as warm:
        first = warm.run(script(SOUND, site=site))
        poisoned = warm.run(script(POISON, site=site))
        again = warm.run(script(SOUND, site=site))
    assert first.ok, first
    assert poisoned.output.endswith("poisoned"), poisoned
    assert (again.output, again.runner) == (first.output, f"{cold.name}, warm")
