"""Runs the installer in the sandbox or as a plain process. In the sandbox, a socket to `host_proxy` is its only network
access."""

import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from xkg.config import EnvironmentSettings
from xkg.files import read_regular
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.bubblewrap_mounts import QUIET, Confined, Mount, outside_uid
from xkg.sandbox.isolation.container import IMAGE_PYTHON, IMAGE_UV, ContainerRunner, owner_in_container
from xkg.sandbox.isolation.gpus import nvidia_gpus
from xkg.sandbox.isolation.host_proxy import PYTORCH_CPU, certificates, configured_index, reachable, registry_socket
from xkg.sandbox.isolation.interpreters import Interpreter, own, uv_program
from xkg.sandbox.isolation.scratch import fill
from xkg.sandbox.isolation.subprocess import UnsafeSubprocessRunner
from xkg.sandbox.packages.disk_quota import WORK, Quota
from xkg.sandbox.packages.plan import Installing
from xkg.sandbox.runner import Limits, Runner

_SECONDS = 600
_PROCESSES = 2048
"""uv starts hundreds of threads, and the kernel counts the threads of all runs together because they share the uid that
owns the store."""
_MOST_ANSWERED = 16 << 20
# Makes uv retry once, and wait at most 30 seconds for data.
_PATIENCE = {"UV_HTTP_RETRIES": "1", "UV_HTTP_TIMEOUT": "30"}
_NETWORK = frozenset("HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR".split())
# These modules run in the sandbox.
# These modules form a package without `__init__`, so nothing else is imported from xkg.
_SENT = (
    "guest/forward",
    *(f"packages/{name}" for name in "clashes installer source_files toml_text uv_pip wheels".split()),
)
_START = "import sys; sys.path.insert(0, '.'); from xkg.sandbox.packages.installer import main; main()"
_INSTALLER = ("-I", "-c", _START, "request.json")
BUILT = "/built"
_MAKE, _SOCKET, _UV = "/make", "/registry", "/uv/uv"


class InstallerRuns:
    """Runs the installer for the environments in `folder`. `notify` receives download progress."""

    def __init__(
        self, folder: Path, settings: EnvironmentSettings, runner: Runner, notify: Callable[[Installing], None]
    ) -> None:
        self.making = folder / "making"
        self.built = folder / "built"  # locally built wheels, mounted at `BUILT` in runs
        self.sandbox = runner if isinstance(runner, BubblewrapRunner | ContainerRunner) else None
        self._settings = settings
        self._notify = notify
        self._contained = not isinstance(runner, UnsafeSubprocessRunner)

    def cpu_index(self) -> str | None:
        """Returns the index for PyTorch's CPU builds, or None if it is not enabled or not reachable."""
        url: str | None = self._settings.cpu_index
        if url in ("auto", "none"):
            url = PYTORCH_CPU if url == "auto" and configured_index().public else None
        return url if url and (self._settings.cpu or not nvidia_gpus()) and reachable(url) else None

    @contextlib.contextmanager
    def run(
        self, query: dict[str, Any], limits: Quota, interpreter: Interpreter, installing: Installing | None = None
    ) -> Iterator[tuple[Any, str, Path]]:
        """Yields the installer's answer (None on failure), the reason for the failure, and the run's folder. The
        folder's `site` contains the installed packages. The folder is removed at the end of the `with` block. The
        wheels are for `interpreter`. Runs may overlap."""
        on_mac = isinstance(self.sandbox, ContainerRunner) and not sys.platform.startswith("linux")
        if on_mac or (self._contained and self.sandbox is None):
            yield None, "packages can be installed only under bubblewrap or in Linux containers", self.making
            return
        making = self.making
        keeper = outside_uid(keeper="packages") if self.sandbox else None
        owner = os.getuid() if keeper is None else keeper
        if making.exists() and making.stat().st_uid != owner:
            shutil.rmtree(making)
        making.mkdir(exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=WORK, dir=making))
        work.chmod(0o755)
        for folder in (making, work, work / "unpacking", making / "wheels", making / "cache"):
            folder.mkdir(exist_ok=True)
            os.chown(folder, owner, owner if os.getuid() == 0 else -1)
        if installing is not None:
            self._notify(installing)
        try:
            ended = (
                self._confined(query, limits, keeper, interpreter, installing, work.name)
                if self.sandbox
                else self._plain(query, interpreter, work.name)
            )
            if not (_is_folder(work) and (_is_folder(work / "site") or not os.path.lexists(work / "site"))):
                shutil.rmtree(making, ignore_errors=True)
                yield None, "the installer replaced its folder with something else", work
                return
            answer = None
            with contextlib.suppress(OSError, ValueError):
                answer = json.loads(read_regular(work / "answer.json", _MOST_ANSWERED, links=False))
            yield answer, ended, work
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _confined(
        self,
        query: dict[str, Any],
        limits: Quota,
        keeper: int | None,
        interpreter: Interpreter,
        installing: Installing | None,
        work: str,
    ) -> str:
        index, cpu = configured_index(), self.cpu_index()
        if cpu:
            index = index.with_index(cpu)
        trusted = certificates()
        variables = {name: str(path) for name, path in trusted.items()} | dict(index.variables) | _PATIENCE
        mounts = [Mount(self.making, _MAKE, writable=True), *(Mount(path, str(path)) for path in {*trusted.values()})]
        if self.built.is_dir():
            mounts.append(Mount(self.built, BUILT))
        received = self._progress(installing) if installing else None
        seconds = _SECONDS + (installing.total_mb if installing else 0)  # plus one second per megabyte
        in_image = isinstance(self.sandbox, ContainerRunner)
        if not in_image:
            mounts.append(Mount(uv_program(), _UV))
        uv = IMAGE_UV if in_image else _UV
        request = json.dumps(_request(query, None if in_image else interpreter, uv, _SOCKET, _MAKE, work))
        with registry_socket(index.hosts, 4 * limits.one << 20, received=received) as socket:
            confined = Confined(
                command=(IMAGE_PYTHON if in_image else str(own().program), *_INSTALLER),
                limits=Limits(seconds=seconds, disk_mb=max(256, limits.one), processes=_PROCESSES),
                files={**_installer(), "request.json": request},
                mounts=(*mounts, Mount(socket, _SOCKET)),
                variables=variables,
                other=interpreter if interpreter != own() else None,
                unix_sockets=True,
                keeper="packages",
            )
            if isinstance(self.sandbox, ContainerRunner):
                outcome = self.sandbox.confine(confined, user=owner_in_container(keeper))
            else:
                assert self.sandbox is not None
                outcome = self.sandbox.confine(confined)
        return _trouble(outcome.ended, outcome.output)

    def _progress(self, installing: Installing) -> Callable[[int], None]:
        step = max(1, installing.total_mb // 20)
        told = 0

        def received(amount: int) -> None:
            nonlocal told
            if (done := min(amount >> 20, installing.total_mb)) >= told + step:
                told = done
                self._notify(installing.model_copy(update={"done_mb": done}))

        return received

    def _plain(self, query: dict[str, Any], interpreter: Interpreter, work: str) -> str:
        home = self.making / work
        request = _request(query, interpreter, str(uv_program()), None, str(self.making), work)
        fill(home, {**_installer(), "request.json": json.dumps(request)})
        variables = QUIET | {"HOME": str(home), "TMPDIR": str(home), "PATH": os.defpath} | _PATIENCE
        variables |= {name: value for name, value in os.environ.items() if name.upper() in _NETWORK}
        variables |= configured_index().variables
        command = (str(own().program), *_INSTALLER)
        try:
            ran = subprocess.run(
                command, cwd=home, env=variables, capture_output=True, text=True, timeout=3 * _SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return _trouble("timeout", "")
        return _trouble("exited", ran.stderr)


def _request(
    query: dict[str, Any], interpreter: Interpreter | None, uv: str, socket: str | None, making: str, work: str
) -> dict[str, Any]:
    mine = f"{making}/{work}"
    paths = {"cache": f"{making}/cache", "answer": f"{mine}/answer.json", "target": f"{mine}/site"}
    paths |= {"store": f"{making}/wheels", "unpacking": f"{mine}/unpacking"}
    other = None if interpreter in (None, own()) else interpreter
    program = IMAGE_PYTHON if interpreter is None else str(interpreter.program)
    return query | paths | {"uv": uv, "socket": socket, "python": other and other.full, "interpreter": program}


def _is_folder(place: Path) -> bool:
    return place.is_dir() and not place.is_symlink()


def _trouble(ended: str, output: str) -> str:
    if ended != "exited":
        return f"the installation was stopped ({ended})"
    lines = output.strip().splitlines()
    return f"the installation failed ({lines[-1][:200]})" if lines else "the installation failed"


@functools.cache
def _installer() -> dict[str, str]:
    sandbox = Path(__file__).parents[1]
    return {f"xkg/sandbox/{name}.py": (sandbox / f"{name}.py").read_text() for name in _SENT}
