"""Tests the confined worker. A compromised call must not be able to do anything except answer or end."""

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from xkg.errors import InputError, SandboxUnavailableError, UnsafeInputError
from xkg.sandbox.guest import landlock
from xkg.sandbox.isolation.confined_worker import Bounds, ConfinedWorker, WorkerDiedError, walls
from xkg.sandbox.isolation.watchdog import descendants

TASKS = ("tests.sandbox.isolation.worker_tasks",)
ROOMY = Bounds(step_seconds=60, seconds=120, memory_mb=256, answer_mb=4)
TIGHT = Bounds(step_seconds=0.3, seconds=120, memory_mb=256, answer_mb=4)


@pytest.fixture(scope="module")
def worker() -> Iterator[ConfinedWorker]:
    with ConfinedWorker(TASKS) as started:
        yield started


def echoed(worker: ConfinedWorker, *contents: bytes | None) -> list[bytes]:
    """Returns the data that the worker's echo task sends back."""
    parts: list[bytes] = []
    names = [str(n) for n in range(len(contents))]
    worker.call("echo", {"names": names}, ROOMY, lambda asked: (contents[int(n)] for n in asked), parts.append)
    return parts


def test_a_task_asks_for_bytes_and_answers_in_parts(worker: ConfinedWorker) -> None:
    large = os.urandom(3 << 20)
    assert echoed(worker, b"one", None, b"", large) == [b"one", b"none", b"", large]


@pytest.mark.parametrize(
    ("task", "bounds", "reason", "at"),
    [
        ("spin", TIGHT, "too-slow", "spinning"),
        ("sleep", Bounds(step_seconds=0.1, seconds=120), "too-slow", "sleeping"),
        ("marks", Bounds(step_seconds=60, seconds=2), "too-slow", "again and again"),
        ("hoard", ROOMY, "out-of-memory", "hoarding"),
        ("crash", ROOMY, "crashed", "crashing"),
        ("hang-up", ROOMY, "crashed", "leaving"),
        ("flood", ROOMY, "crashed", "flooding"),
        ("huge", ROOMY, "crashed", "boasting"),
        ("nonsense", ROOMY, "crashed", "lying"),
        ("half", ROOMY, "crashed", ""),
        ("odd-error", ROOMY, "crashed", ""),
        ("odd-ask", ROOMY, "crashed", ""),
        ("break", ROOMY, "crashed", "working"),
        ("no such task", ROOMY, "crashed", ""),
    ],
)
def test_a_broken_task_ends_alone(worker: ConfinedWorker, task: str, bounds: Bounds, reason: str, at: str) -> None:
    with pytest.raises(WorkerDiedError) as died:
        worker.call(task, {}, bounds)
    assert (died.value.reason, died.value.at) == (reason, at)
    assert "\n" not in str(died.value)
    assert echoed(worker, b"still here") == [b"still here"]


def test_time_is_counted_from_mark_to_mark(worker: ConfinedWorker) -> None:
    assert worker.call("steps", {}, Bounds(step_seconds=0.5, seconds=120)) == b"done"


def test_more_than_may_be_given_is_refused(worker: ConfinedWorker) -> None:
    with pytest.raises(UnsafeInputError, match="more than 1 MB"):
        worker.call("echo", {"names": ["a"]}, Bounds(input_mb=1), lambda _: iter([b"x" * (2 << 20)]))


def test_an_error_of_the_input_comes_back_as_one_line(worker: ConfinedWorker) -> None:
    with pytest.raises(UnsafeInputError) as error:
        worker.call("refuse", {}, ROOMY)
    assert str(error.value) == "it is too large [31m and red"


def test_an_answer_that_cannot_be_taken_is_the_callers_to_refuse(worker: ConfinedWorker) -> None:
    def part(_: bytes) -> None:
        raise ValueError("not what was agreed")

    with pytest.raises(WorkerDiedError, match="not what was agreed"):
        worker.call("echo", {"names": ["a"]}, ROOMY, lambda _: iter([b"x"]), part)


def test_an_error_of_whoever_reads_ends_the_call(worker: ConfinedWorker) -> None:
    def read(_: object) -> Iterator[bytes]:
        raise InputError("the disk is gone")
        yield b""

    with pytest.raises(InputError, match="the disk is gone"):
        worker.call("echo", {"names": ["a"]}, ROOMY, read)


def test_nothing_can_be_opened_started_or_reached(worker: ConfinedWorker) -> None:
    found, descriptors = json.loads(worker.call("tries", {}, ROOMY))
    assert {name: said for name, said in found.items() if said.startswith("done")} == {}
    assert descriptors == [0, 1, 2, 3]


@pytest.mark.parametrize("lacking", ["landlock", "filter", "both"])
def test_other_walls_keep_files_and_network_closed(monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    if lacking in ("landlock", "both"):
        monkeypatch.setattr(landlock, "version", lambda: 0)
    if lacking in ("filter", "both"):
        monkeypatch.setattr("xkg.sandbox.isolation.confined_worker._filter", lambda: "")
    tried = ["read a file", "write a file", "list a folder", "connect", "make a socket", "fork", "copy a descriptor"]
    with ConfinedWorker(TASKS) as started:
        found, _ = json.loads(started.call("tries", tried, ROOMY))
    assert {name: said for name, said in found.items() if said.startswith("done")} == {}


def test_no_key_is_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with ConfinedWorker(TASKS) as started:
        variables, process, uid = json.loads(started.call("environment", {}, ROOMY))
        assert "sk-secret" not in str(variables)
        assert set(variables) <= {
            "PATH", "LD_LIBRARY_PATH", "LANG", "LC_CTYPE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"
        }  # fmt: skip
        for child in descendants(os.getpid()):
            if child != process:
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # the process has already ended
                    assert b"sk-secret" not in Path(f"/proc/{child}/environ").read_bytes()
    if "its own uid" in walls():
        assert uid not in (0, os.getuid())


def test_a_call_finds_nothing_of_another(worker: ConfinedWorker) -> None:
    assert [json.loads(worker.call("remember", who, ROOMY)) for who in ("first", "second")] == ["nothing"] * 2


def test_calls_run_side_by_side(worker: ConfinedWorker) -> None:
    """One call waits for bytes that arrive only after the other call has returned."""
    answered = threading.Event()

    def read(_: object) -> Iterator[bytes]:
        assert answered.wait(60)
        yield b"late"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(worker.call, "echo", {"names": ["a"]}, ROOMY, read)
        assert echoed(worker, b"early") == [b"early"]
        answered.set()
        assert json.loads(waiting.result(60)) == [4]


def test_a_killed_process_is_started_anew() -> None:
    before = set(_workers())
    with ConfinedWorker(TASKS) as started:
        started.start()
        until = time.monotonic() + 60
        while not (new := set(_workers()) - before):  # wait until the process has become the worker
            assert time.monotonic() < until
            time.sleep(0.01)
        (first,) = new
        echoed(started, b"one")
        os.kill(first, signal.SIGKILL)
        assert echoed(started, b"two") == [b"two"]


def test_a_call_that_is_killed_in_the_middle_says_so() -> None:
    with ConfinedWorker(TASKS) as started:
        echoed(started, b"one")
        before = set(_workers())

        def read(_: object) -> Iterator[bytes]:
            (call,) = set(_workers()) - before
            os.kill(call, signal.SIGKILL)
            yield b"never read"

        with pytest.raises(WorkerDiedError, match="SIGKILL") as died:
            started.call("echo", {"names": ["a"]}, ROOMY, read)
        assert (died.value.reason, died.value.at) == ("crashed", "reading")


def test_closing_leaves_no_process_and_no_descriptor() -> None:
    processes, descriptors = set(descendants(os.getpid())), set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    started = ConfinedWorker(TASKS)
    with ThreadPoolExecutor(1) as pool:
        reading, closed = threading.Event(), threading.Event()

        def read(_: object) -> Iterator[bytes]:
            reading.set()
            assert closed.wait(60)
            yield b"x"

        under_way = pool.submit(started.call, "echo", {"names": ["a"]}, ROOMY, read)
        assert reading.wait(60)
        started.close()
        closed.set()
        with pytest.raises(InputError, match="closed"):
            under_way.result(60)
    assert set(descendants(os.getpid())) <= processes
    assert set(os.listdir("/proc/self/fd")) <= descriptors  # noqa: PTH208
    with pytest.raises(InputError, match="closed"):
        started.call("echo", {"names": []}, ROOMY)


def test_what_is_not_closed_ends_with_the_object() -> None:
    processes = set(descendants(os.getpid()))
    started = ConfinedWorker(TASKS)
    started.call("echo", {"names": []}, ROOMY)
    assert set(descendants(os.getpid())) - processes
    del started
    assert set(descendants(os.getpid())) <= processes


def test_a_fork_has_a_worker_of_its_own() -> None:
    with ConfinedWorker(TASKS) as started:
        assert echoed(started, b"before") == [b"before"]
        process = os.fork()
        if process == 0:
            status = 1
            try:
                status = 0 if echoed(started, b"in the fork") == [b"in the fork"] else 1
                started.close()
            finally:
                os._exit(status)
        assert os.waitpid(process, 0)[1] == 0
        assert echoed(started, b"after") == [b"after"]


def test_what_cannot_be_imported_is_one_line() -> None:
    with ConfinedWorker(("tests.sandbox.no_such_tasks",)) as broken:
        with pytest.raises(SandboxUnavailableError, match="no_such_tasks") as error:
            broken.call("echo", {}, ROOMY)
        assert "\n" not in str(error.value)


def test_empty_files_are_read_as_any_other() -> None:
    """The process that receives the last file may exit before the parent sends anything else."""
    with ConfinedWorker(TASKS) as started:
        for _ in range(30):
            assert json.loads(started.call("echo", {"names": ["a"]}, ROOMY, lambda _: iter([b""]))) == [0]


def test_too_many_calls_wait_and_then_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with ConfinedWorker(TASKS) as started, ThreadPoolExecutor(2) as pool:
        reading, free = threading.Barrier(3), threading.Event()

        def read(_: object) -> Iterator[bytes]:
            reading.wait(60)
            free.wait(60)
            yield b""

        under_way = [pool.submit(started.call, "echo", {"names": ["a"]}, ROOMY, read) for _ in range(2)]
        reading.wait(60)
        begun = time.monotonic()
        with pytest.raises(InputError, match="try again"):
            started.call("echo", {"names": []}, Bounds(seconds=0.2))
        assert time.monotonic() - begun >= 0.2
        free.set()
        assert [json.loads(call.result(60)) for call in under_way] == [[0], [0]]


def _workers() -> list[int]:
    """Returns the descendants of this process that are workers. These include the calls and the template processes from
    which calls are forked."""
    found = []
    for process in descendants(os.getpid()):
        try:
            if b"guest/worker.py" in Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
        except OSError:
            continue
    return found
