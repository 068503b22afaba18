"""Parses untrusted bytes in a process that can only compute.

One process imports the parsers once. Each call forks this process (which takes milliseconds). The fork gives up access
to files, the network and other processes before reading the first untrusted byte (`xkg.sandbox.guest.worker`). The fork
has limits on processor time, wall time and memory, and exits once it has answered. Calls can therefore run in parallel,
and a crash affects only one call. An attacker who takes over a call finds no data from other calls and cannot change
their answers.

Answers are untrusted bytes with a maximum length, and the caller must validate them."""

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from xkg.errors import InputError, SandboxUnavailableError, UnsafeInputError
from xkg.operating_system import is_root
from xkg.sandbox.guest import landlock
from xkg.sandbox.guest.worker import ASK, BYTES, DONE, ERROR, HEADER, MARK, MEMORY, NOTHING, PART, REQUEST
from xkg.sandbox.isolation import seccomp
from xkg.sandbox.isolation.bubblewrap_mounts import CAP_SETGID, CAP_SETUID, holds, unused_uid

_PROGRAM = Path(landlock.__file__).with_name("worker.py")
_STARTING_SECONDS = 60.0
_ENDING_SECONDS = 5.0
# A step may take longer on a busy machine, so its limit on wall time is this multiple of its limit on processor time.
_WALL = 6
_CLOSED = "the parser was closed; open the graph again"
_LONGEST_MARK = 10_000
_LONGEST_ERROR = 20_000
_MOST_NAMES = 100_000
# Use one thread per library, because forking a multithreaded process can hang.
_VARIABLES = {
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_INHERITED_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")

Reason = Literal["too-slow", "out-of-memory", "crashed"]


class WorkerDiedError(Exception):
    """Raised if a call ends without an answer, or with an answer that an intact worker would never send. `at` is the
    item being processed, or '' for the whole call."""

    def __init__(self, reason: Reason, at: str, detail: str = "") -> None:
        super().__init__(f"{reason} at {at!a}" + (f": {detail}" if detail else ""))
        self.reason, self.at, self.detail = reason, at, detail


@dataclass(frozen=True)
class Bounds:
    """Limits on processor time (per step and in total, in seconds), and on memory, input and answer size (in MB). The
    limit on a step's wall time is six times the limit on its processor time. `seconds` also limits the call's wall
    time."""

    step_seconds: float = 10
    seconds: float = 300
    memory_mb: int = 2048
    input_mb: int = 1000
    answer_mb: int = 1000


class ConfinedWorker:
    """Runs functions from the `TASKS` of `modules` in confined forks of a single process, which the first call starts.
    Thread-safe, and usable in forks of the creating process. The process exits when this object is closed or
    garbage-collected."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = tuple(modules)
        self._closed = False
        self._template: _Template | None = None
        self._begin_in_this_process()

    def _begin_in_this_process(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(max(2, os.cpu_count() or 1))

    def start(self) -> None:
        """Starts the process and its imports, without waiting for them to finish."""
        with self._turn():
            if self._template is None and not self._closed:
                self._template = _Template(self._modules)

    def call(
        self,
        task: str,
        payload: object,
        bounds: Bounds,
        read: Callable[[Sequence[str]], Iterator[bytes | None]] = lambda names: iter([None] * len(names)),
        part: Callable[[bytes], None] = lambda _: None,
    ) -> bytes:
        """Runs `task` on `payload` (a JSON value) and returns its answer. The task requests bytes by name from `read`,
        which yields bytes or None for each name. If the answer arrives in parts, `part` receives each part.

        Raises `WorkerDiedError` (also if `part` raises `ValueError`), and `InputError` if no slot becomes free within
        the time limit. Also raises any `InputError` or `UnsafeInputError` from the task, and any error from `read`."""
        places = self._places
        if not places.acquire(timeout=bounds.seconds):
            raise InputError("other papers or repositories are being parsed; try again when they are done")
        try:
            for last in (False, True):
                with self._forked(bounds.memory_mb) as (channel, leash):
                    conversation = _Conversation(channel, leash, bounds, read, part)
                    try:
                        return conversation.answer(task, payload)
                    except WorkerDiedError:
                        if self._closed:
                            raise InputError(_CLOSED) from None
                        if last or conversation.begun:  # retry if the template was killed before it forked
                            raise
            raise AssertionError
        finally:
            places.release()

    def close(self) -> None:
        """Ends the process and all running calls. Later calls raise `InputError`."""
        with self._turn():
            template, self._template, self._closed = self._template, None, True
        if template is not None:
            template.end()

    def __enter__(self) -> "ConfinedWorker":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        if self._owner != os.getpid():  # after a fork, the template still belongs to the parent process
            self._template = None
            self._begin_in_this_process()
        with self._lock:
            yield

    @contextlib.contextmanager
    def _forked(self, memory_mb: int) -> Iterator[tuple[socket.socket, socket.socket]]:
        with contextlib.ExitStack() as opened:
            ours = []
            theirs = []
            for _ in range(2):
                own_end, their_end = socket.socketpair()
                ours.append(opened.enter_context(own_end))
                theirs.append(opened.enter_context(their_end))
            for attempt in (1, 2):
                with self._turn():
                    if self._closed:
                        raise InputError(_CLOSED)
                    if self._template is None:
                        self._template = _Template(self._modules)
                    try:
                        self._template.fork(memory_mb, theirs)
                        break
                    except OSError as error:  # the template was killed
                        self._template.end()
                        self._template = None
                        if attempt == 2:
                            raise SandboxUnavailableError(f"the parsing process does not start: {error}") from error
            for own_end in theirs:
                own_end.close()
            yield ours[0], ours[1]


class _Template:
    def __init__(self, modules: Sequence[str]) -> None:
        if not hasattr(os, "fork"):
            raise SandboxUnavailableError(
                "papers and repositories are parsed in forked processes, which this system does not support; build "
                "in the Windows Subsystem for Linux or on another machine, and import the result"
            )
        ours, theirs = socket.socketpair()
        with theirs:
            plan = {
                "control": theirs.fileno(),
                "modules": list(modules),
                "path": [place for place in sys.path if place],
                "uid": _uid(),
                "landlock": landlock.version(),
                "filter": _filter(),
            }
            try:
                process = subprocess.Popen(
                    (sys.executable, "-I", str(_PROGRAM)),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=_VARIABLES | {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ},
                    cwd="/",
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise SandboxUnavailableError(
                    f"the interpreter {sys.executable} cannot be started ({error})"
                ) from error
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(json.dumps(plan).encode())
        self._control, self._process, self._ready = ours, process, False
        self.end = weakref.finalize(self, _end, process, ours, os.getpid())

    def fork(self, memory_mb: int, descriptors: Sequence[socket.socket]) -> None:
        """Forks the process for one call. Raises `OSError` if the process has exited, and `SandboxUnavailableError` if
        it did not start."""
        if not self._ready:
            self._wait()
        socket.send_fds(self._control, [MEMORY.pack(memory_mb)], [descriptor.fileno() for descriptor in descriptors])

    def _wait(self) -> None:
        self._control.settimeout(_STARTING_SECONDS)
        line = b""
        with contextlib.suppress(TimeoutError), self._control.makefile("rb") as control:
            line = control.readline(1 << 16)
        answer = json.loads(line) if line.endswith(b"\n") else {"error": "it did not answer"}
        if "error" in answer:
            self.end()
            raise SandboxUnavailableError(f"the parsing process does not start: {_one_line(answer['error'])}")
        self._ready = True


def _end(process: "subprocess.Popen[bytes]", control: socket.socket, owner: int) -> None:
    control.close()
    if os.getpid() != owner:
        process.returncode = 0  # the template is not a child of this process, so there is nothing to wait for
        return
    try:
        process.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class _Conversation:
    """Exchanges messages with a call until it ends or hits a limit."""

    def __init__(
        self,
        channel: socket.socket,
        leash: socket.socket,
        bounds: Bounds,
        read: Callable[[Sequence[str]], Iterator[bytes | None]],
        part: Callable[[bytes], None],
    ) -> None:
        self._channel, self._leash, self._bounds = channel, leash, bounds
        self._read, self._part = read, part
        self.begun = False
        self._at = ""
        self._until = time.monotonic() + bounds.seconds
        self._step_until = self._until
        self._answer_left = bounds.answer_mb << 20
        self._input_left = bounds.input_mb << 20

    def answer(self, task: str, payload: object) -> bytes:
        request = {
            "task": task,
            "payload": payload,
            "step_seconds": self._bounds.step_seconds,
            "seconds": self._bounds.seconds,
        }
        self._send(REQUEST, json.dumps(request).encode())
        while True:
            kind, data = self._frame()
            self.begun = True
            if kind == MARK:
                self._at = data.decode("utf-8", "replace")
                step = self._bounds.step_seconds * _WALL if self._at else self._bounds.seconds
                self._step_until = min(self._until, time.monotonic() + step)
            elif kind == ASK:
                self._send_files(data)
            elif kind == PART:
                try:
                    self._part(data)
                except ValueError as error:
                    raise self._invalid(_one_line(str(error))) from error
            elif kind == DONE:
                return data
            else:
                self._failed(data)

    def _send_files(self, data: bytes) -> None:
        try:
            names = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._invalid("its request for files is malformed") from error
        if not isinstance(names, list) or len(names) > _MOST_NAMES or not all(isinstance(n, str) for n in names):
            raise self._invalid("its request for files is malformed")
        for content in self._read(names):
            self._input_left -= len(content or b"")
            if self._input_left < 0:
                raise UnsafeInputError(
                    f"there is more than {self._bounds.input_mb} MB to parse; pass only the relevant part"
                )
            self._send(NOTHING if content is None else BYTES, content or b"")

    def _failed(self, data: bytes) -> None:
        try:
            report = json.loads(data)
            kinds, message = list(report["kinds"]), _one_line(str(report["message"]))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._invalid("its error cannot be read") from error
        for kind in kinds:
            if kind == "MemoryError":
                raise WorkerDiedError("out-of-memory", self._at)
            if kind in _RAISED:
                raise _RAISED[kind](message)
        raise WorkerDiedError("crashed", self._at, f"{_one_line(str(kinds[0]))}: {message}" if kinds else message)

    def _frame(self) -> tuple[bytes, bytes]:
        kind, length = HEADER.unpack(self._exactly(HEADER.size))
        left = self._answer_left
        most = {MARK: _LONGEST_MARK, ERROR: _LONGEST_ERROR, ASK: 64 << 20, PART: left, DONE: left}
        if kind not in most:
            raise self._invalid("it sent a message of an unknown kind")
        if length > most[kind]:
            raise self._invalid(f"its answer has more than {self._bounds.answer_mb} MB")
        if kind in (PART, DONE):
            self._answer_left -= length + HEADER.size
        return kind, self._exactly(length)

    def _exactly(self, length: int) -> bytes:
        pieces, missing = [], length
        while missing:
            try:
                self._channel.settimeout(self._seconds_left())
                piece = self._channel.recv(min(missing, 1 << 20))
            except TimeoutError as error:
                raise WorkerDiedError("too-slow", self._at) from error
            except OSError as error:
                raise self._died() from error
            if not piece:
                raise self._died()
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def _send(self, kind: bytes, data: bytes) -> None:
        try:
            self._channel.settimeout(self._seconds_left())
            self._channel.sendall(HEADER.pack(kind, len(data)))
            if data:  # if there is no data, the other end may already have answered and closed
                self._channel.sendall(data)
        except TimeoutError as error:
            raise WorkerDiedError("too-slow", self._at) from error
        except OSError as error:
            raise self._died() from error

    def _seconds_left(self) -> float:
        seconds = self._step_until - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds

    def _invalid(self, what: str) -> WorkerDiedError:
        return WorkerDiedError("crashed", self._at, what)

    def _died(self) -> WorkerDiedError:
        if not select.select([self._leash], [], [], _ENDING_SECONDS)[0]:
            return WorkerDiedError("crashed", self._at, "it closed its socket")
        status_line = self._leash.recv(64)
        status = int(status_line) if status_line.strip().isdigit() else 0
        ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if ended == signal.SIGXCPU:
            return WorkerDiedError("too-slow", self._at)
        if ended:
            return WorkerDiedError("crashed", self._at, f"ended by {signal.Signals(ended).name}")
        return WorkerDiedError("crashed", self._at)


_RAISED: Mapping[str, type[InputError]] = {"UnsafeInputError": UnsafeInputError, "InputError": InputError}


def _one_line(text: str) -> str:
    return " ".join(re.sub(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd]", " ", text[:4000]).split())[:1000]


def _uid() -> int | None:
    """Returns an unused uid if this process runs as root, and None for users who may not change their uid."""
    if not is_root() or not sys.platform.startswith("linux") or not holds(CAP_SETUID, CAP_SETGID):
        return None
    try:
        return unused_uid(lasting=True)
    except SandboxUnavailableError:
        return None


@cache
def _filter() -> str:
    try:
        return seccomp.computing_only().hex()
    except SandboxUnavailableError:
        return ""


def walls() -> tuple[str, ...]:
    """Returns short descriptions of how calls are confined on this machine, in addition to resource limits."""
    names: list[str] = []
    if version := landlock.version():
        names.append(f"Landlock ABI {version}")
    if _filter():
        names.append("a system call filter")
    if _uid() is not None:
        names.append("its own uid")
    return tuple(names)
