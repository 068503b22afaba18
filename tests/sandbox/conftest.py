import functools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.sandbox.index import Index, serving
from xkg.errors import SandboxUnavailableError
from xkg.sandbox.guest import landlock
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.container import ContainerRunner
from xkg.sandbox.isolation.fork_server import WarmRunner
from xkg.sandbox.isolation.landlock import LandlockRunner
from xkg.sandbox.isolation.watchdog import descendants
from xkg.sandbox.runner import Job, Limits, Outcome, Runner

SMALL = Limits(seconds=40, memory_mb=300, disk_mb=8, processes=24, output_kb=64)

Attack = Callable[..., Outcome]

_ROOT = Path(__file__).parents[2]
_CLOSED = ("--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search")
_ORDINARY = ("/usr/bin/setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups")
_RUN = """
import sys
from xkg.errors import SandboxUnavailableError
from xkg.sandbox.guest import landlock
from xkg.sandbox.runner import Job
from xkg.sandbox.isolation.landlock import LandlockRunner
abi = int(sys.argv[1])
landlock.version = lambda: abi
try:
    print(LandlockRunner().run(Job.model_validate_json(sys.stdin.read())).model_dump_json())
except SandboxUnavailableError as error:
    print(error)
"""


def as_ordinary_user(site: Path | None = None) -> tuple[str, ...]:
    """Returns a command that drops root's privileges, or nothing if the tests do not run as root. The command may still
    enter root's home if the interpreter or the packages are there."""
    if os.geteuid() != 0:
        return ()
    closed = interpreter_is_closed() or _is_closed(_ROOT) or (site is not None and _is_closed(site))
    return (*_ORDINARY, *(_CLOSED if closed else ()))


def interpreter_is_closed() -> bool:
    return _is_closed(Path(sys.base_prefix))


def _is_closed(place: Path) -> bool:
    return any(not folder.stat().st_mode & 1 for folder in place.parents)


class LandlockOfOrdinaryUser:
    """Runs `LandlockRunner` in an ordinary user's process, with this kernel's ABI or an older one."""

    name = "landlock"
    weaker = ()

    def __init__(self, abi: int) -> None:
        self._abi = abi

    def run(self, job: Job) -> Outcome:
        ran = subprocess.run(
            (*as_ordinary_user(job.site), sys.executable, "-c", _RUN, str(self._abi)),
            input=job.model_dump_json(),
            env=dict(os.environ) | {"HOME": "/", "PYTHONPATH": str(_ROOT)},
            cwd="/",
            capture_output=True,
            text=True,
            check=True,
        )
        if not ran.stdout.startswith("{"):
            raise SandboxUnavailableError(ran.stdout)
        return Outcome.model_validate(json.loads(ran.stdout))


class Forked:
    """Runs each job as the second job of a warm process, which forks it. The job must leave nothing behind, and a third
    job must be able to follow."""

    name = "bubblewrap"
    weaker = ()

    def run(self, job: Job) -> Outcome:
        harmless = Job(arguments=("-c", "print('fine')"), limits=job.limits.model_copy(update={"seconds": 40}))
        with WarmRunner(BubblewrapRunner(), lambda _: ()) as warm:
            warm.run(harmless.model_copy(update={"site": job.site}))
            before = set(descendants(os.getpid()))
            outcome = warm.run(job)
            if threading.current_thread() is threading.main_thread():  # other threads have separate processes
                assert set(descendants(os.getpid())) <= before
            after = warm.run(harmless.model_copy(update={"site": job.site}))
            assert (after.output, after.runner) == ("fine\n", "bubblewrap, warm")
            assert outcome.runner == "bubblewrap, warm" or job.python  # otherwise, the warm process was lost
        return outcome


def require_landlock(abi: int = 1) -> None:
    if landlock.version() < abi:
        pytest.skip(f"this kernel has Landlock ABI {landlock.version()} (0: none), the test needs {abi}")


@functools.cache
def _no_container() -> str | None:
    try:
        ContainerRunner().run(Job(arguments=("-c", "")))
    except SandboxUnavailableError as error:
        return str(error)
    return None


def require_container() -> ContainerRunner:
    """Requires podman or docker, and the image from `make containers` or `make runner-image`."""
    if (why := _no_container()) is not None:
        pytest.skip(why)
    return ContainerRunner()


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """Provides a registry on loopback, which is the only registry in the settings."""
    for name in list(os.environ):
        if name.startswith(("UV_", "PIP_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    with serving(Index()) as served:
        monkeypatch.setenv("UV_DEFAULT_INDEX", served.url)
        yield served


@pytest.fixture(scope="session")
def contained() -> Iterator[Runner]:
    """Provides the sandbox that builds use, which forks jobs from a single process. Tests of the runner itself use
    other fixtures."""
    with WarmRunner(BubblewrapRunner(), lambda _: ()) as runner:
        yield runner


CONTAINER = pytest.param("container", marks=pytest.mark.product("needs a container engine and an image"))


@pytest.fixture(params=["bubblewrap", "landlock", "forked", CONTAINER])
def runner(request: pytest.FixtureRequest) -> Runner:
    if request.param == "forked":
        require_landlock(landlock.SCOPES_FROM)
        return Forked()
    if request.param == "landlock":
        require_landlock()
        return LandlockRunner()
    return require_container() if request.param == "container" else BubblewrapRunner()


@pytest.fixture
def attack(runner: Runner) -> Attack:
    """Runs hostile source in the sandbox. The limits are small, and keyword arguments change them."""
    return attack_on(runner)


def attack_on(runner: Runner) -> Attack:
    def run(source: str, *arguments: str, site: Path | None = None, **limits: float) -> Outcome:
        job = Job(
            arguments=("attack.py", *arguments),
            files={"attack.py": dedent(source)},
            site=site,
            limits=SMALL.model_copy(update=limits),
        )
        return runner.run(job)

    return run


@pytest.fixture(
    params=[
        "bubblewrap",
        "bubblewrap in a user namespace",
        "landlock",
        "landlock of an ordinary user",
        "forked",
        CONTAINER,
    ]
)
def every_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Attack:
    """The sandboxes for root and for ordinary users differ, and both must contain the attack."""
    if request.param.startswith("landlock"):
        require_landlock()
        ordinary = LandlockOfOrdinaryUser(landlock.version())
        return attack_on(ordinary if request.param.endswith("user") else LandlockRunner())
    if request.param.endswith("namespace"):
        monkeypatch.setattr("xkg.sandbox.isolation.bubblewrap.outside_uid", lambda **_: None)
    if request.param == "forked":
        require_landlock(landlock.SCOPES_FROM)
        return attack_on(Forked())
    if request.param == "container":
        return attack_on(require_container())
    return attack_on(BubblewrapRunner())
