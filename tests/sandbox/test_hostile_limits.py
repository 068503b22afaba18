"""Tests limits on memory, processes, disk, output and time for hostile code, and that no process outlives a run."""

import os
import time
import uuid
from pathlib import Path

import pytest

from tests.sandbox.conftest import Attack, attack_on, require_landlock
from xkg.errors import InputError, UnsafeInputError
from xkg.sandbox.isolation.landlock import LandlockRunner
from xkg.sandbox.runner import Job, Limits, Outcome, Runner

pytestmark = pytest.mark.product("each runner × each hostile act", "runner", "every_way")


def processes_with(mark: str) -> list[str]:
    """Returns the command lines of this machine's processes that contain `mark`."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except OSError:
                continue
            if mark in line:
                found.append(line)
    return found


def test_memory_in_one_process(attack: Attack) -> None:
    outcome = attack("held = [bytearray(1 << 20) for _ in range(100_000)]", memory_mb=150)
    if outcome.ended == "exited":  # on a busy machine, the kernel's limit may act before the watchdog
        assert outcome.output.endswith("MemoryError\n")
    else:
        assert (outcome.ended, outcome.exit_code) == ("memory", None)
        assert outcome.peak_memory_mb > 150
    assert outcome.peak_memory_mb < 2 * 150 + 50


def test_one_huge_allocation_is_refused_to_the_job_itself(attack: Attack) -> None:
    outcome = attack("bytearray(1 << 40)", memory_mb=150)
    assert (outcome.ended, outcome.exit_code) == ("exited", 1)
    assert outcome.output.endswith("MemoryError\n")


def test_memory_over_many_children(attack: Attack) -> None:
    outcome = attack(
        """
        import os, time
        for _ in range(12):
            if os.fork() == 0:
                held = b"".join(os.urandom(1 << 20) for _ in range(30))
                time.sleep(30)
        time.sleep(30)
        """,
        memory_mb=200,
    )
    assert outcome.ended == "memory"
    assert outcome.peak_memory_mb > 200


def test_memory_that_children_share_counts_once(attack: Attack) -> None:
    outcome = attack(
        """
        import os, time
        held = bytearray(100 << 20)
        children = [os.fork() or (time.sleep(1), os._exit(0)) for _ in range(6)]
        for child in children:
            os.waitpid(child, 0)
        print("shared")
        """,
        memory_mb=400,
    )
    assert outcome.ok, outcome
    assert outcome.output == "shared\n"
    assert outcome.peak_memory_mb > 0


def test_memory_that_nobody_is_charged_for(attack: Attack) -> None:
    outcome = attack(
        """
        import os
        for make in (lambda: os.memfd_create("hidden"), lambda: open("/dev/shm/full", "wb", 0).fileno()):
            try:
                descriptor = make()
                total = 0
                while total < 300 << 20:
                    total += os.write(descriptor, b"x" * (1 << 20))
                print("held", total)
            except OSError as error:
                print("refused", error.errno)
        """
    )
    assert outcome.ok, outcome
    assert [line.split()[0] for line in outcome.output.splitlines()] == ["refused", "refused"]


def test_a_fork_bomb(attack: Attack) -> None:
    mark = str(uuid.uuid4())
    outcome = attack(
        """
        import os
        while True:
            try:
                os.fork()
            except OSError:
                pass
        """,
        mark,
        seconds=2,
        processes=20,
    )
    assert outcome.ended in ("timeout", "killed")  # "killed" if the watchdog counts processes, not the kernel
    assert processes_with(mark) == []


def test_a_thread_bomb(attack: Attack) -> None:
    outcome = attack(
        """
        import threading, time
        count = 0
        try:
            while count < 500:
                threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); count += 1
        except RuntimeError:
            pass
        print(count)
        """,
        processes=20,
    )
    assert outcome.ok
    # For ordinary users, Landlock has neither a separate uid that could be counted nor a namespace.
    assert int(outcome.output) <= (20 if outcome.runner != "landlock" or os.geteuid() == 0 else 80)


def test_a_daemon_ends_with_its_job(every_way: Attack) -> None:
    mark = str(uuid.uuid4())
    outcome = every_way(
        """
        import os, signal, sys, time
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.closerange(0, 3)
                time.sleep(60)
            os._exit(0)
        time.sleep(0.2)
        print("left a daemon")
        """,
        mark,
    )
    assert outcome.ok
    assert outcome.output == "left a daemon\n"
    assert outcome.seconds < 40
    assert processes_with(mark) == []


def test_a_child_that_keeps_the_output_open_does_not_keep_the_job(attack: Attack) -> None:
    outcome = attack(
        """
        import os, time
        print("parent", flush=True)
        if os.fork() == 0:
            time.sleep(60)
        """
    )
    assert outcome.ok
    assert outcome.output == "parent\n"
    assert outcome.seconds < 40


def test_endless_output(attack: Attack) -> None:
    outcome = attack("while True: print('endless ' * 1000)", output_kb=16)
    assert outcome.ended == "output"
    assert outcome.exit_code is None
    assert len(outcome.output.encode()) <= 16 * 1024


def test_long_output_keeps_its_end_and_does_not_stop_the_job(attack: Attack) -> None:
    outcome = attack("for i in range(20_000): print(i)", output_kb=16)
    assert outcome.ok
    assert outcome.output.endswith("19998\n19999\n")
    assert len(outcome.output) == 16 * 1024


def test_output_that_is_no_text(attack: Attack) -> None:
    outcome = attack("import os; os.write(1, bytes(range(256))); os.write(2, b'\\x1b[2J\\xff')")
    assert outcome.ok
    assert "�" in outcome.output


def test_a_disk_fill(attack: Attack) -> None:
    outcome = attack(
        """
        import os, tempfile
        for place in (tempfile.gettempdir(), os.getcwd()):
            try:
                with open(place + "/sparse", "wb") as file:
                    file.truncate(1 << 40)
                print("grew")
            except OSError as error:
                print("refused", flush=True)
        total = 0
        for i in range(2000):
            for folder in (tempfile.gettempdir(), os.getcwd(), "/dev/shm"):
                try:
                    with open(f"{folder}/{i}", "wb") as file:
                        total += file.write(b"x" * (1 << 20))
                except OSError as error:
                    reason = error.strerror
            if total > 4000 << 20:
                break
        print(total >> 20)
        """,
        disk_mb=8,
    )
    refused, _, held = outcome.output.partition("refused\nrefused\n")
    assert refused == ""
    if outcome.ended == "disk":  # output beyond the limit was deleted with the scratch folder
        assert held == ""
    else:
        assert outcome.ok, outcome
        assert int(held) <= 8 + 64


NAMES = "[open(f'{i:06}' + 'x' * 200, 'w').close() for i in range(200_000)]"
DELETED = """
held = []
for i in range(100):
    held.append(open("x", "wb"))
    held[-1].write(bytes(1 << 20))
    held[-1].flush()
    os.unlink("x")
"""
DEPTH = "for i in range(4000): os.mkdir('x' * 100); os.chdir('x' * 100)"


@pytest.mark.parametrize("fill", [NAMES, DELETED, DEPTH])
def test_a_disk_that_no_memory_file_system_bounds(fill: str) -> None:
    require_landlock()
    outcome = attack_on(LandlockRunner())(f"import os\n{fill}\nimport time; time.sleep(60)", disk_mb=8, seconds=60)
    assert outcome.ended == "disk", outcome


def test_sleeping_past_the_end(attack: Attack) -> None:
    outcome = attack(
        """
        import signal, time
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        print("before", flush=True)
        while True:
            time.sleep(60)
        """,
        seconds=2,
    )
    assert outcome.ended == "timeout"
    assert outcome.exit_code is None
    assert outcome.output == "before\n"
    assert outcome.seconds >= 2


def test_stopping_and_freezing_itself(attack: Attack) -> None:
    outcome = attack("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", seconds=1)
    assert outcome.ended == "timeout"


@pytest.mark.parametrize(
    ("source", "ended", "code"),
    [
        ("raise SystemExit(7)", "exited", 7),
        ("import os; os.abort()", "killed", 134),
        ("import ctypes; ctypes.string_at(1)", "killed", 139),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed", 137),
        ("1 / 0", "exited", 1),
    ],
)
def test_how_it_ended_is_told_as_it_was(attack: Attack, source: str, ended: str, code: int) -> None:
    outcome = attack(source)
    assert (outcome.ended, outcome.exit_code) == (ended, code)
    assert not outcome.ok


def test_pretending_to_be_the_sandbox(attack: Attack) -> None:
    outcome = attack("print('bwrap: setting up uid map: Permission denied'); raise SystemExit(1)")
    assert (outcome.ended, outcome.exit_code) == ("exited", 1)


def test_huge_arguments_are_refused_before_anything_runs(runner: Runner) -> None:
    for argument in ("x" * 10_000_000, "a\0b"):
        with pytest.raises(InputError, match="pass long code as a file"):
            runner.run(Job(arguments=("-c", argument)))


@pytest.mark.parametrize("name", ["/etc/passwd", "../out", "a/../../out", "", "a\0b"])
def test_files_stay_in_the_scratch_folder(runner: Runner, name: str) -> None:
    with pytest.raises(UnsafeInputError):
        runner.run(Job(arguments=("-c", ""), files={name: "x"}))


def test_files_of_any_name_and_text(runner: Runner) -> None:
    files = {"-c": "dash", "a b/ü/ö.txt": "Größe", "deep/er/x.py": "x = '\ud800'", "--args": ""}
    source = (
        "import os; print(sorted(os.path.join(f, n) for f, _, ns in os.walk('.') for n in ns)); open('deep/er/y', 'w')"
    )
    outcome = runner.run(Job(arguments=("-c", source), files=files))
    assert outcome.ok, outcome
    assert outcome.output.strip() == str(sorted(f"./{name}" for name in files))


def test_jobs_side_by_side_do_not_count_against_each_other(runner: Runner) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def fork(_: int) -> Outcome:
        source = (
            "import os, time\nfor _ in range(14):\n    if not os.fork(): time.sleep(0.5); os._exit(0)\nprint('all')"
        )
        return runner.run(Job(arguments=("-c", source), limits=Limits(processes=20, seconds=60)))

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(fork, range(4)))
    assert [outcome.output for outcome in outcomes] == ["all\n"] * 4


def test_nothing_is_left_open(attack: Attack) -> None:
    attack("pass")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for source in ("pass", "1 / 0", "while True: print('x' * 1000)"):
        attack(source, output_kb=1)
    deadline = time.monotonic() + 60
    while len(list(Path("/proc/self/fd").iterdir())) > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
