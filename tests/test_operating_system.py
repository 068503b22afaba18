"""Tests locks, processes and limits on this system. `test_other_systems` covers the others."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from xkg import operating_system


def test_a_lock_keeps_others_out_until_its_file_is_closed(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as one, (tmp_path / "lock").open("w") as other:
        assert operating_system.lock(one.fileno(), shared=False, wait=False)
        assert not operating_system.lock(other.fileno(), shared=True, wait=False)
        one.close()
        assert operating_system.lock(other.fileno(), shared=True, wait=False)
        with (tmp_path / "lock").open() as third:
            assert operating_system.lock(third.fileno(), shared=True, wait=False)
            assert not operating_system.lock(third.fileno(), shared=False, wait=False)


def test_a_group_is_ended_with_its_children() -> None:
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True); input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as leader:
        assert leader.stdout is not None
        child = int(leader.stdout.readline())
        operating_system.signal_group(leader.pid, operating_system.KILL)
        leader.wait()
    operating_system.signal_group(leader.pid, operating_system.KILL)  # no process is left, which is not an error
    end = time.monotonic() + 60
    while _lives(child):  # the kernel needs some time
        assert time.monotonic() < end
        time.sleep(0.01)


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_file_of_ones_own_or_of_root_is_trusted(tmp_path: Path) -> None:
    status = tmp_path.stat()
    assert not operating_system.owned_by_another(status)
    stranger = os.stat_result((*status[:4], 12345 if os.geteuid() != 12345 else 12346, *status[5:]))
    assert operating_system.owned_by_another(stranger)


def test_a_process_runs_until_it_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert operating_system.runs(process.pid)
    assert not operating_system.runs(process.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc alone has a heap for each thread")
def test_threads_that_allocate_share_one_heap() -> None:
    program = (
        "import ctypes, threading\nfrom xkg.operating_system import share_one_heap\nshare_one_heap()\n"
        "hold, found = threading.Barrier(9), []\n"
        "def work():\n    library = ctypes.CDLL(None)\n    library.malloc.restype = ctypes.c_void_p\n"
        "    found.append(library.malloc(5000))\n    hold.wait()\n"
        "[threading.Thread(target=work).start() for _ in range(8)]\nhold.wait()\n"
        "print(max(found) - min(found))"
    )
    spread = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert int(spread) < 32 * 2**20  # the heaps of threads are 64 MB apart


@pytest.mark.parametrize("process", [-1, 0, 1])
def test_no_signal_goes_to_every_process(process: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`killpg(1)` is `kill(-1)`. A server that signals the wrong process group could therefore kill all of its user's
    processes."""
    sent: list[int] = []
    monkeypatch.setattr("os.killpg", lambda group, _: sent.append(group))
    operating_system.signal_group(process, operating_system.KILL)
    assert sent == []
