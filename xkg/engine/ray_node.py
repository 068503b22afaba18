"""Runs on the nodes of a Ray cluster. Items are tasks on any node, and services and limits are actors on the driver's
node."""

import contextlib
import hashlib
import os
import pickle
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import ray

from xkg.engine.engine import Failure, Opened, Site, Work
from xkg.engine.limits import OverError
from xkg.errors import XkgError
from xkg.files import private_folder, user_cache_folder
from xkg.version import __version__

SLOT = "xkg_sandbox"
"""The Ray resource for sandbox slots. Each item takes one."""


Batch = list[tuple[str, object]]
"""Messages from a task: ("event", …), and finally ("result", …)."""

_TOGETHER_SECONDS = 0.25


@cache
def source_version() -> str:
    """Returns the version of xkg with a digest of its source, which distinguishes working copies."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for file in sorted(root.rglob("*.py")):
        if file.name != "_version.py":
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return f"{__version__} (source {digest.hexdigest()[:12]})"


class Service:
    """An actor for one of the work's services. Calls from abandoned attempts are refused, so an abandoned process
    cannot change anything."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._object = make()
        self._over: set[str] = set()

    def call(self, attempt: str, method: str, arguments: tuple[object, ...]) -> tuple[bool, object]:
        """Calls a method. Returns whether the call succeeded, and its result or exception."""
        if attempt in self._over:
            return False, OverError("this attempt was abandoned")
        try:
            return True, getattr(self._object, method)(*arguments)
        except Exception as error:
            return False, portable(error)

    def over(self, attempt: str) -> None:
        self._over.add(attempt)


def portable(error: Exception) -> Exception:
    """Returns the error, or an `XkgError` with the same message if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return XkgError(str(error))
    return error


class Job(NamedTuple):
    """The work, with handles to its services and limits. `id` is the job's name in the cluster, and `version` is the
    version of xkg."""

    id: str
    work: Work[Any, Any]
    services: Mapping[str, Any]
    limits: Any
    version: str


@dataclass
class RayHome:
    """The `Home` for the attempt that is running in this process."""

    services: Mapping[str, Any]
    limits: Any
    attempt: str = ""

    def call(self, service: str, method: str, *arguments: object) -> Any:
        returned, value = ray.get(self.services[service].call.remote(self.attempt, method, arguments))
        if returned:
            return value
        raise value

    @contextmanager
    def turn(self, place: str) -> Iterator[None]:
        with self.paced(place, 0.0):
            yield

    @contextmanager
    def paced(self, name: str, seconds: float) -> Iterator[None]:
        attempt = self.attempt
        ray.get(self.limits.take.remote(attempt, name, seconds))
        try:
            yield
        finally:
            self.limits.give.remote(attempt, name, seconds)


class Process:
    """The opened work, which a worker process keeps between items. The work runs in a separate thread."""

    def __init__(self, job: Job) -> None:
        self._events: queue.SimpleQueue[tuple[str, object]] = queue.SimpleQueue()
        self._home = RayHome(job.services, job.limits)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="xkg")
        site = Site(lambda event: self._events.put(("event", event)), node_folder(job), self._home)
        self._opened: Opened[Any, Any] = Opened(job.work, site)

    def open(self) -> Failure | None:
        """Opens the work if it is not open yet. Returns a `Failure` if the work cannot be opened."""
        return self._thread.submit(self._opened.open).result()

    def run(self, item: object, attempt: str) -> Iterator[Batch]:
        """Yields the events for an item, followed by ("result", its result or a `Failure`). Events within a quarter of
        a second are sent together, because each message takes about a millisecond on both sides."""
        self._home.attempt = attempt
        self._thread.submit(lambda: self._events.put(("result", self._opened.do(item))))
        ended = False
        while not ended:
            batch = [self._events.get()]
            until = time.monotonic() + _TOGETHER_SECONDS
            with contextlib.suppress(queue.Empty):
                while batch[-1][0] != "result":
                    batch.append(self._events.get(timeout=max(0.0, until - time.monotonic())))
            ended = batch[-1][0] == "result"
            yield batch


def node_folder(job: Job) -> Path:
    """Returns a node's cache folder for papers, repositories, environments and finished stages."""
    folder = user_cache_folder()
    for name in ("", "cluster", job.work.name):
        folder /= name
        private_folder(folder)
    return folder


def unfit(job: Job) -> str | None:
    """Returns one line that says why this node cannot run a job, or None if it can."""
    where = ray.util.get_node_ip_address()
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        return (
            f"node {where} was started without token authentication; set RAY_AUTH_MODE=token and the token in the "
            "environment of `ray start` on every node"
        )
    if (version := source_version()) != job.version:
        return f"node {where} has xkg {version}, but this machine has {job.version}; install the same version on both"
    return None


_process: tuple[str, Process] | None = None
_lock = threading.Lock()


def _process_of(job: Job) -> Process:
    global _process
    with _lock:
        if _process is None or _process[0] != job.id:
            _process = (job.id, Process(job))
        return _process[1]


def run_item(job: Job, item: object, attempt: str) -> Iterator[Batch]:
    problem = unfit(job)
    if problem is not None:
        yield [("result", Failure(problem, of_all=True))]
        return
    for batch in _process_of(job).run(item, attempt):
        kind, value = batch[-1]
        if isinstance(value, Failure) and value.of_all:
            batch[-1] = (kind, value._replace(line=f"node {ray.util.get_node_ip_address()}: {value.line}"))
        yield batch


def check_node(job: Job) -> str | None:
    """Returns why a node cannot run a job, or None if it can. Runs as a Ray task before the first item."""
    problem = unfit(job)
    if problem is not None:
        return problem
    failure = _process_of(job).open()
    return f"node {ray.util.get_node_ip_address()}: {failure.line}" if failure is not None else None
